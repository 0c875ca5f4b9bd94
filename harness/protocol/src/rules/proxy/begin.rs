//! The requests of the host's: which of them are begins, and how those are answered.

use std::collections::HashMap;

use bytes::Bytes;

use super::super::catalogue::RequirementId;
use super::super::json;
use super::super::violation::Cx;
use super::call::{self, Reply};
use super::{Listening, id};
use crate::transcript::LinkId;
use crate::wire::Frame;
use crate::wire::agent_server::{RegisterAsk, Registered};
use crate::wire::profile::Profile;
use crate::wire::request::BeginRequest;

/// The first bytes of the requests for other things than a program that runs loops.
const OTHER_ENDPOINTS: std::ops::RangeInclusive<u8> = 1..=6;

#[derive(Debug)]
enum Kind {
    /// A begin, with its arguments where they read strictly.
    Begin(Option<String>),
    /// A request that no proxy can read, and the requirement that says so.
    Unreadable(RequirementId),
    /// Another request, which is not judged.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Begun,
    Error,
}

/// One request, and what came on its scope.
#[derive(Debug)]
struct Scope {
    kind: Kind,
    sent: u64,
    /// The program had begun when it was sent.
    second: bool,
    /// It came behind an authorization.
    late: bool,
    said: Said,
    finished: bool,
    /// A request under its number came while it was open.
    again: bool,
    /// The call that registers its arguments.
    register: Option<LinkId>,
}

/// The scopes of a connection.
#[derive(Debug, Default)]
pub(super) struct Begins {
    scopes: HashMap<u32, Scope>,
    replies: HashMap<LinkId, Reply>,
    /// The scope on which the program has begun.
    pub(super) begun: Option<u32>,
    /// The program has been registered with success.
    registered: bool,
    /// How many begins there have been.
    begins: usize,
}

impl Begins {
    /// The host asks for something on a scope.
    pub(super) fn requested(&mut self, frame: &Frame, late: bool, cx: &Cx<'_>) {
        let open = self.scopes.get_mut(&frame.scope);
        if let Some(open) = open.filter(|scope| !scope.finished) {
            open.again = true;
            return;
        }
        let kind = kind_of(cx.profile, &frame.payload);
        let scope = Scope {
            second: self.begun.is_some() && matches!(kind, Kind::Begin(_)),
            kind,
            sent: cx.seq,
            late,
            said: Said::Nothing,
            finished: false,
            again: false,
            register: None,
        };
        self.begins += usize::from(matches!(scope.kind, Kind::Begin(_)));
        self.scopes.insert(frame.scope, scope);
    }

    /// Whether the host has opened a scope of this number.
    pub(super) fn knows(&self, scope: u32) -> bool {
        self.scopes.contains_key(&scope)
    }

    /// Whether a scope of this number is open.
    pub(super) fn is_open(&self, scope: u32) -> bool {
        self.scopes.get(&scope).is_some_and(|it| !it.finished)
    }

    /// Whether a scope was opened behind an authorization.
    pub(super) fn is_late(&self, scope: u32) -> bool {
        self.scopes.get(&scope).is_some_and(|it| it.late)
    }

    /// Whether nothing is said here of what comes on a scope.
    pub(super) fn is_other(&self, scope: u32) -> bool {
        let it = self.scopes.get(&scope);
        it.is_some_and(|it| matches!(it.kind, Kind::Other))
    }

    /// Whether a register was answered by a success.
    pub(super) fn is_registered(&self) -> bool {
        self.registered
    }

    /// The agent server is asked to register. `dropped` is what the host's last message was, if it was to be passed over.
    pub(super) fn register(
        &mut self,
        link: LinkId,
        body: &[u8],
        dropped: Option<RequirementId>,
        cx: &mut Cx<'_>,
    ) {
        let fits = |scope: &&mut Scope| {
            matches!(scope.kind, Kind::Begin(_))
                && !scope.second
                && !scope.finished
                && scope.register.is_none()
        };
        let ask = body
            .trim_ascii_start()
            .starts_with(b"{")
            .then(|| serde_json::from_slice::<RegisterAsk>(body).ok())
            .flatten();
        let same = |scope: &Scope| match (&scope.kind, &ask) {
            (Kind::Begin(Some(arguments)), Some(ask)) => {
                json::same_value(arguments, ask.arguments.get())
            }
            (Kind::Begin(None), Some(_)) => true,
            _ => false,
        };
        let unreadable =
            |scope: &Scope| matches!(scope.kind, Kind::Unreadable(id::REQUEST_NOT_JSON));
        let unreadable = self.scopes.values().any(unreadable);
        let mut candidates: Vec<_> = self.scopes.values_mut().filter(fits).collect();
        candidates.sort_by_key(|scope| scope.sent);
        let found = candidates.iter().position(|scope| same(scope));
        if found.is_none() && unreadable {
            let allowed = "nothing of a begin that cannot be read";
            cx.flag(id::REQUEST_NOT_REGISTERED, allowed, "a register");
            return;
        }
        if let Some(scope) = candidates.get_mut(found.unwrap_or(0)) {
            scope.register = Some(link);
            if found.is_none() {
                let allowed = "an object with the arguments of the begin";
                cx.flag(id::ARGUMENTS, allowed, "something else");
            }
            return;
        }
        let allowed = "one register for a begin that can be read";
        cx.flag(dropped.unwrap_or(self.surplus()), allowed, "a register");
    }

    /// What a register breaks for which there is no begin.
    fn surplus(&self) -> RequirementId {
        let any = |matches: fn(&Scope) -> bool| self.scopes.values().any(matches);
        if any(|scope| scope.again) {
            id::REQUEST_DUPLICATE
        } else if any(|scope| scope.second) {
            id::SECOND_HARMLESS
        } else if any(|scope| matches!(scope.kind, Kind::Unreadable(_))) {
            id::REQUEST_NOT_REGISTERED
        } else {
            id::REGISTERS
        }
    }

    /// A register is answered.
    pub(super) fn registered(&mut self, link: LinkId, reply: &Reply) {
        self.registered |= matches!(reply, Reply::Success(_));
        self.replies.insert(link, reply.clone());
    }

    /// Something comes on a scope that is no begin's, or is over; tells whether it does.
    pub(super) fn stray(&self, number: u32, what: &str, cx: &mut Cx<'_>) -> bool {
        let Some(scope) = self.scopes.get(&number) else {
            return false;
        };
        if scope.finished {
            let id = match scope.kind {
                // An answer to the request that came when this one may have been over.
                _ if scope.again => return true,
                Kind::Unreadable(id) => id,
                Kind::Other => return true,
                Kind::Begin(_) if scope.said == Said::Begun => id::NOT_FINISHED,
                Kind::Begin(_) => id::REFUSAL_FINISHES,
            };
            cx.flag(id, "nothing behind the finish", what);
            return true;
        }
        if let Kind::Unreadable(id) = scope.kind {
            cx.flag(id, "the bare finish", what);
        }
        !matches!(scope.kind, Kind::Begin(_))
    }

    /// Begun comes on a begin's scope.
    pub(super) fn begun(&mut self, number: u32, list: &[u8], cx: &mut Cx<'_>) {
        let another = self.begun.is_some();
        let Some(scope) = self.scopes.get_mut(&number) else {
            return;
        };
        let fault = match scope.said {
            _ if scope.second => Some((id::SECOND_REFUSED, "an error and the finish")),
            Said::Begun if scope.again => {
                Some((id::REQUEST_DUPLICATE, "no answer to the second request"))
            }
            Said::Begun => Some((id::BEGUN_ONCE, "one begun")),
            Said::Error => Some((id::REFUSAL_FINISHES, "the finish behind an error")),
            Said::Nothing if another => Some((id::BEGUN_ONCE, "one begun")),
            Said::Nothing => None,
        };
        scope.said = Said::Begun;
        if let Some((id, allowed)) = fault {
            cx.flag(id, allowed, "begun");
            return;
        }
        self.begun = Some(number);
        let Some(register) = scope.register else {
            cx.flag(id::REGISTERS, "a register first", "begun");
            return;
        };
        let (id, allowed) = match self.replies.get(&register) {
            None => (id::BEGUN, "begun once the register is answered"),
            Some(Reply::Lost) => (id::BEGIN_UNREACHABLE, "an error"),
            Some(reply @ Reply::Refusal { .. }) => (refusal_of(reply), "an error"),
            Some(Reply::Success(body)) => match Registered::decode(body) {
                Err(_) => (id::UNREADABLE_ANSWER, "an error"),
                Ok(declared) => {
                    judge_list(list, &declared, cx);
                    return;
                }
            },
        };
        cx.flag(id, allowed, "begun");
    }

    /// An error comes on the scope of a begin that has not begun; tells whether that is what the scope is.
    pub(super) fn refused(
        &mut self,
        number: u32,
        error: &[u8],
        listening: &Listening,
        cx: &mut Cx<'_>,
    ) -> bool {
        let Some(scope) = self.scopes.get_mut(&number) else {
            return false;
        };
        if scope.said == Said::Begun && !scope.second {
            return false;
        }
        if scope.said != Said::Nothing {
            let allowed = "the finish behind an error";
            cx.flag(id::REFUSAL_FINISHES, allowed, "another error");
            return true;
        }
        scope.said = Said::Error;
        let (sent, second, register) = (scope.sent, scope.second, scope.register);
        let reply = register.and_then(|link| self.replies.get(&link));
        let (id, words) = match reply {
            _ if second => (id::SECOND_REFUSED, None),
            None => {
                if register.is_some() {
                    let allowed = "an answer once the register is answered";
                    cx.flag(id::BEGUN, allowed, "an error");
                } else if self.begins == 1 && !listening.failed_after(sent) {
                    cx.flag(id::REGISTERS, "a register first", "an error");
                }
                (id::BEGIN_UNREACHABLE, None)
            }
            Some(Reply::Lost) => (id::BEGIN_UNREACHABLE, None),
            Some(reply @ Reply::Refusal { .. }) => (refusal_of(reply), reply.words()),
            Some(Reply::Success(body)) => {
                // What it declared may be what the proxy does not take.
                let declared = Registered::decode(body);
                let lists = |it: &Registered| it.dependencies.iter().chain(&it.tools).count();
                if declared.is_ok_and(|it| lists(&it) == 0) {
                    cx.flag(id::BEGUN, "begun", "an error");
                    return true;
                }
                (id::UNREADABLE_ANSWER, None)
            }
        };
        if let Err(received) = call::says(error, words) {
            cx.flag(id, "an error that is the JSON value it is about", received);
        }
        true
    }

    /// What the scope on which the program has begun breaks when it ends, where a request is to blame.
    pub(super) fn blamed(&self, begun: u32) -> Option<RequirementId> {
        if self.scopes.get(&begun)?.again {
            return Some(id::REQUEST_DUPLICATE);
        }
        let second = self.scopes.values().any(|scope| scope.second);
        second.then_some(id::SECOND_HARMLESS)
    }

    /// A scope is finished. Tells whether the program had begun on it.
    pub(super) fn finished(&mut self, number: u32, listening: &Listening, cx: &mut Cx<'_>) -> bool {
        let begun = self.begun == Some(number);
        let Some(scope) = self.scopes.get_mut(&number) else {
            return false;
        };
        if scope.finished {
            self.stray(number, "another finish", cx);
            return false;
        }
        scope.finished = true;
        if begun {
            self.begun = None;
            return true;
        }
        if matches!(scope.kind, Kind::Begin(_)) && scope.said == Said::Nothing {
            let reply = scope.register.and_then(|link| self.replies.get(&link));
            let id = match reply {
                _ if scope.again => id::REQUEST_DUPLICATE,
                _ if scope.second => id::SECOND_REFUSED,
                // It does not read strictly, so it may be one that cannot be read.
                None if matches!(scope.kind, Kind::Begin(None)) => return false,
                // Behind one that failed, whether there is another begin is left open.
                None if self.begins > 1 => return false,
                None if listening.failed_after(scope.sent) => id::BEGIN_UNREACHABLE,
                None => id::BEGUN,
                Some(Reply::Lost) => id::BEGIN_UNREACHABLE,
                Some(reply @ Reply::Refusal { .. }) => refusal_of(reply),
                Some(Reply::Success(body)) if Registered::decode(body).is_ok() => id::BEGUN,
                Some(Reply::Success(_)) => id::UNREADABLE_ANSWER,
            };
            cx.flag(id, "an answer ahead of the finish", "the bare finish");
        }
        false
    }
}

fn refusal_of(reply: &Reply) -> RequirementId {
    match reply.words() {
        Some(_) => id::REFUSAL,
        None => id::REFUSAL_NO_JSON,
    }
}

fn kind_of(profile: &Profile, payload: &Bytes) -> Kind {
    let Some((first, body)) = payload.split_first() else {
        return Kind::Unreadable(id::REQUEST_EMPTY);
    };
    if profile.begin_request.word(*first).is_none() {
        return if OTHER_ENDPOINTS.contains(first) {
            Kind::Other
        } else {
            Kind::Unreadable(id::REQUEST_UNKNOWN_TAG)
        };
    }
    let object = body.trim_ascii_start().starts_with(b"{");
    match BeginRequest::decode(profile, payload) {
        // Null may count as nothing.
        Ok(request) if request.arguments.get() == "null" => Kind::Begin(None),
        Ok(request) => Kind::Begin(Some(request.arguments.get().to_owned())),
        // A laxer reader takes it.
        Err(_) if object && has_arguments(body) => Kind::Begin(None),
        Err(_) => Kind::Unreadable(id::REQUEST_NOT_JSON),
    }
}

fn has_arguments(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body)
        .is_ok_and(|object| object.contains_key("arguments"))
}

fn judge_list(list: &[u8], declared: &Registered, cx: &mut Cx<'_>) {
    let text = |list: &Option<Vec<Box<serde_json::value::RawValue>>>| {
        let items = list.iter().flatten().map(|item| item.get());
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    };
    // The list of an earlier revision may be passed over, and that of this one is empty then.
    let mut lists = vec![text(&declared.dependencies)];
    lists.extend(declared.tools.as_ref().map(|_| text(&declared.tools)));
    let empty = lists.iter().all(|list| list == "[]");
    let same = call::value(list)
        .is_some_and(|received| lists.iter().any(|list| json::same_value(list, received)));
    if !same {
        let (id, allowed) = if empty {
            (id::EMPTY_LIST, "an empty list")
        } else {
            (id::LIST, "the list that the program declared")
        };
        cx.flag(id, allowed, "something else");
    }
}
