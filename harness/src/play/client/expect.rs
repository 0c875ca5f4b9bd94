//! What a step expects of a client: compared with what waits to be read, without waiting itself.

use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::Args;
use diverge_protocol::scenario::acts::ClientAct;
use diverge_protocol::wire::frame::FrameType;

use super::super::describe;
use super::super::halt::{Halt, Peek};
use super::Player;
use super::written::as_given;

impl Player<'_> {
    pub(super) fn peek_act(
        &mut self,
        act: ClientAct,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.client(args)?;
        Ok(match act {
            ClientAct::Connection => self.peek_connection(at, blamed),
            ClientAct::Credential => self.peek_credential(at, blamed),
            ClientAct::Run => self.peek_run(at, blamed),
            ClientAct::Tells(told) => {
                let given = args.json.as_ref().map(|json| self.fill(json));
                let secret = format!("secret-{}", self.stage.token);
                let written = &mut self.stage.clients[at].written;
                written.peek_told(told, given, &secret, blamed, &mut self.stage.told)
            }
            ClientAct::Ends(end) => {
                let written = &mut self.stage.clients[at].written;
                written.peek_ended(end, blamed, &mut self.stage.told)
            }
            _ => return Err(super::script("this step is done, not expected")),
        })
    }

    /// Where the connection is gone as well as where the client is.
    fn left(&self, at: usize, allowed: &str, blamed: Option<RequirementId>) -> Peek {
        match &self.stage.clients[at].socket {
            Some(socket) if socket.ended => {
                Peek::other(allowed, "the end of the connection", None, blamed)
            }
            _ => self.stage.clients[at].written.gone(allowed, blamed),
        }
    }

    fn peek_connection(&self, at: usize, blamed: Option<RequirementId>) -> Peek {
        let client = &self.stage.clients[at];
        if client.socket.is_some() {
            return Peek::Met;
        }
        // Whoever it was that came to none need not have been the client.
        let allowed = match &client.failed {
            Some(why) => {
                format!("a WebSocket from the client, and a connection came to none ({why})")
            }
            None => "a WebSocket from the client".to_owned(),
        };
        client.written.gone(&allowed, blamed)
    }

    fn peek_credential(&mut self, at: usize, blamed: Option<RequirementId>) -> Peek {
        let allowed = "the credential that the client was given";
        let client = &mut self.stage.clients[at];
        let Some((seq, frame)) = client.frames.front() else {
            return self.left(at, allowed, blamed);
        };
        if frame.kind != FrameType::Authorization {
            return Peek::other(allowed, &describe::frame(frame), Some(*seq), blamed);
        }
        if let Err(halt) = as_given(frame, &client.given, *seq) {
            return Peek::Diverged(halt);
        }
        self.stage.told.push(*seq);
        client.frames.pop_front();
        Peek::Met
    }

    fn peek_run(&mut self, at: usize, blamed: Option<RequirementId>) -> Peek {
        let allowed = "the run request that the client was given";
        let client = &mut self.stage.clients[at];
        let Some((seq, frame)) = client.frames.front() else {
            return self.left(at, allowed, blamed);
        };
        if frame.kind != FrameType::Request {
            return Peek::other(allowed, &describe::frame(frame), Some(*seq), blamed);
        }
        if let Err(halt) = as_given(frame, &client.given, *seq) {
            return Peek::Diverged(halt);
        }
        client.scope = Some(frame.scope);
        self.stage.told.push(*seq);
        client.frames.pop_front();
        Peek::Met
    }
}
