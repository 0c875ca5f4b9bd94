//! One run: between its scope and its proxy.

use diverge_protocol::wire::begin::{BeginKind, BeginResponse};
use diverge_protocol::wire::channel::ChannelAsk;
use diverge_protocol::wire::profile::{BeginChannel, ClientChannel, ProviderChannel, ProxyChannel};
use diverge_protocol::wire::request::BeginRequest;
use diverge_protocol::wire::run::{RunKind, RunResponse};
use diverge_protocol::wire::{Frame, FrameType, Profile};
use serde_json::value::RawValue;

use crate::channels::Relay;
use crate::checks;
use crate::policy::{Output, RunId};
use crate::settings::{EarlyStop, Settings};

/// What becomes of a run after something happened to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It goes on.
    GoesOn,
    /// It ends, with the finish.
    Ends,
}

/// A run that has been taken on and has not ended.
#[derive(Debug)]
pub struct Run {
    id: RunId,
    arguments: Box<RawValue>,
    /// Whether the id is out.
    started: bool,
    in_loop: bool,
    /// Channel requests that came before the id.
    early: Vec<Frame>,
    /// The client's channels that are carried on to the proxy.
    to_proxy: Relay,
    /// The proxy's channels that are carried on to the client.
    to_client: Relay,
}

impl Run {
    /// A run whose proxy is being dialled.
    #[must_use]
    pub fn new(id: RunId, arguments: Box<RawValue>, settings: &Settings) -> Self {
        Self {
            id,
            arguments,
            started: false,
            in_loop: false,
            early: Vec::new(),
            to_proxy: Relay::new(settings.first_channel, settings.lowest_free_channel),
            to_client: Relay::new(settings.first_channel, settings.lowest_free_channel),
        }
    }

    /// The proxy answers: asks it to begin.
    pub fn begin(&self, settings: &Settings, out: &mut Vec<Output>) {
        let request = BeginRequest {
            arguments: &self.arguments,
        }
        .encode(Profile::scope());
        out.push(self.to_proxy(settings, FrameType::Request, 0, request));
    }

    /// The run cannot start, for a reason of the provider's.
    pub fn fail(&mut self, why: &str, out: &mut Vec<Output>) -> Then {
        out.push(self.to_client(FrameType::Response, 0, checks::error(why)));
        Then::Ends
    }

    /// The proxy's connection ended.
    pub fn on_proxy_gone(&mut self, out: &mut Vec<Output>) -> Then {
        if self.started {
            Then::Ends
        } else {
            self.fail("the proxy went away", out)
        }
    }

    /// The last frame that bears the scope.
    pub fn finish(&self, settings: &Settings, out: &mut Vec<Output>) {
        if settings.finish_open_channels {
            let early = self.early.iter().map(|frame| frame.channel);
            for channel in self.to_proxy.open_channels().chain(early) {
                out.push(self.to_client(FrameType::ChannelResponseFinish, channel, Vec::new()));
            }
        }
        out.push(self.to_client(FrameType::ResponseFinish, 0, Vec::new()));
    }

    /// A frame of the proxy's. What is not on the begin scope is dropped.
    pub fn on_proxy_frame(
        &mut self,
        frame: Frame,
        settings: &Settings,
        out: &mut Vec<Output>,
    ) -> Then {
        if frame.scope != settings.begin_scope {
            return Then::GoesOn;
        }
        match frame.kind {
            FrameType::Response => return self.on_begin_response(&frame, settings, out),
            FrameType::ResponseFinish => return self.on_proxy_gone(out),
            FrameType::ChannelRequest => self.on_ask(&frame, settings, out),
            FrameType::ChannelResponse => {
                if let Some(channel) = self.to_proxy.opener_of(frame.channel) {
                    out.push(self.to_client(FrameType::ChannelResponse, channel, frame.payload));
                }
            }
            FrameType::ChannelResponseFinish => {
                if let Some(channel) = self.to_proxy.finish(frame.channel) {
                    out.push(self.to_client(FrameType::ChannelResponseFinish, channel, Vec::new()));
                }
            }
            FrameType::Authorization | FrameType::Request => {}
        }
        Then::GoesOn
    }

    /// A word of the proxy's about begin and its loops: relayed where it is in order, otherwise dropped.
    fn on_begin_response(
        &mut self,
        frame: &Frame,
        settings: &Settings,
        out: &mut Vec<Output>,
    ) -> Then {
        let Ok((kind, body)) = Profile::scope().begin_responses.split(&frame.payload) else {
            return Then::GoesOn;
        };
        let relayed = match kind {
            BeginKind::Begun | BeginKind::Error if !self.started && unreadable(&frame.payload) => {
                return self.fail("the proxy's answer cannot be read", out);
            }
            BeginKind::Begun if !self.started => return self.on_begun(settings, out),
            BeginKind::Error => RunKind::Error,
            BeginKind::Chunk if self.in_loop || (self.started && settings.relay_stray_chunks) => {
                RunKind::Chunk
            }
            BeginKind::Active if self.started && !self.in_loop => RunKind::Active,
            BeginKind::Inactive if self.in_loop => RunKind::Inactive,
            _ if settings.end_on_disorder => return self.on_proxy_gone(out),
            _ => return Then::GoesOn,
        };
        match relayed {
            RunKind::Active => self.in_loop = true,
            RunKind::Inactive => self.in_loop = false,
            _ => {}
        }
        let body = if relayed == RunKind::Active {
            &[]
        } else {
            body
        };
        out.push(self.to_client(FrameType::Response, 0, [&[relayed.byte()], body].concat()));
        if relayed == RunKind::Error {
            Then::Ends
        } else {
            Then::GoesOn
        }
    }

    /// The program is registered: sends the id, then serves the channels that waited for it.
    fn on_begun(&mut self, settings: &Settings, out: &mut Vec<Output>) -> Then {
        let Ok(id) = mint() else {
            return self.fail("no id can be minted", out);
        };
        self.started = true;
        out.push(self.to_client(FrameType::Response, 0, RunResponse::Id(id).encode()));
        for frame in std::mem::take(&mut self.early) {
            if self.serve(&frame, settings, out) == Then::Ends {
                return Then::Ends;
            }
        }
        Then::GoesOn
    }

    /// Something that the proxy asks on a channel: carried on to the client, or finished empty.
    fn on_ask(&mut self, frame: &Frame, settings: &Settings, out: &mut Vec<Output>) {
        if self.to_client.has(frame.channel) {
            return;
        }
        let profile = Profile::scope();
        let asked = profile
            .proxy_channels
            .split(&frame.payload)
            .ok()
            .and_then(|(ask, body)| match ask {
                ProxyChannel::Postgres | ProxyChannel::Daemon => None,
                _ => ProviderChannel::named(ask.name())
                    .map(|ask| profile.provider_channels.payload(ask, body)),
            });
        out.push(match asked {
            Some(payload) => {
                let channel = self.to_client.open(frame.channel);
                self.to_client(FrameType::ChannelRequest, channel, payload)
            }
            None => self.to_proxy(
                settings,
                FrameType::ChannelResponseFinish,
                frame.channel,
                Vec::new(),
            ),
        });
    }

    /// A frame of the client's on one of the scope's channels.
    pub fn on_client_frame(
        &mut self,
        frame: Frame,
        settings: &Settings,
        out: &mut Vec<Output>,
    ) -> Then {
        match frame.kind {
            FrameType::ChannelRequest if self.has_open(frame.channel) => {}
            FrameType::ChannelRequest if self.started => return self.serve(&frame, settings, out),
            FrameType::ChannelRequest => {
                let at_once = settings.early_stop == EarlyStop::ActedOn;
                if at_once
                    && asked(&frame).is_some_and(|(channel, _)| channel == ClientChannel::Stop)
                {
                    return Then::Ends;
                }
                self.early.push(frame);
            }
            FrameType::ChannelResponse => {
                if let Some(channel) = self.to_client.opener_of(frame.channel) {
                    out.push(self.to_proxy(
                        settings,
                        FrameType::ChannelResponse,
                        channel,
                        frame.payload,
                    ));
                }
            }
            FrameType::ChannelResponseFinish => {
                if let Some(channel) = self.to_client.finish(frame.channel) {
                    out.push(self.to_proxy(
                        settings,
                        FrameType::ChannelResponseFinish,
                        channel,
                        Vec::new(),
                    ));
                }
            }
            _ => {}
        }
        Then::GoesOn
    }

    fn has_open(&self, channel: u32) -> bool {
        self.to_proxy.has(channel) || self.early.iter().any(|frame| frame.channel == channel)
    }

    /// A channel that the client opened: stop, something to carry on, or something that is finished bare.
    fn serve(&mut self, frame: &Frame, settings: &Settings, out: &mut Vec<Output>) -> Then {
        let carried = match asked(frame) {
            Some((ClientChannel::Stop, _)) => {
                if settings.finish_stop_channel {
                    out.push(self.to_client(
                        FrameType::ChannelResponseFinish,
                        frame.channel,
                        Vec::new(),
                    ));
                }
                return Then::Ends;
            }
            Some((ClientChannel::Schema, _)) => Some((BeginChannel::Schema, &[][..])),
            Some((ClientChannel::Enqueue, body)) => Some((BeginChannel::Enqueue, body)),
            Some((ClientChannel::Dequeue, body)) => Some((BeginChannel::Dequeue, body)),
            _ => None,
        };
        out.push(match carried {
            Some((ask, body)) => {
                let channel = self.to_proxy.open(frame.channel);
                let payload = Profile::scope().begin_channels.payload(ask, body);
                self.to_proxy(settings, FrameType::ChannelRequest, channel, payload)
            }
            None => self.to_client(FrameType::ChannelResponseFinish, frame.channel, Vec::new()),
        });
        Then::GoesOn
    }

    fn to_client(&self, kind: FrameType, channel: u32, payload: impl Into<bytes::Bytes>) -> Output {
        Output::ToClient(
            self.id.client,
            Frame::new(kind, self.id.scope, channel, payload).encode(),
        )
    }

    fn to_proxy(
        &self,
        settings: &Settings,
        kind: FrameType,
        channel: u32,
        payload: impl Into<bytes::Bytes>,
    ) -> Output {
        Output::ToProxy(
            self.id,
            Frame::new(kind, settings.begin_scope, channel, payload).encode(),
        )
    }
}

/// What a client's channel request asks, and the body of that, if it can be read.
fn asked(frame: &Frame) -> Option<(ClientChannel, &[u8])> {
    let (channel, body) = Profile::scope()
        .client_channels
        .split(&frame.payload)
        .ok()?;
    ChannelAsk::decode(channel, body).ok()?;
    Some((channel, body))
}

/// Whether that begin response cannot be read.
fn unreadable(payload: &[u8]) -> bool {
    BeginResponse::decode(Profile::scope(), payload).is_err()
}

/// An id that nobody can guess.
fn mint() -> Result<String, getrandom::Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(format!("{:032x}", u128::from_be_bytes(random)))
}
