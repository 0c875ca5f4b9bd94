//! Faults of registration.

use diverge_protocol::wire::agent_server::Endpoint;

use crate::call::Answer;
use crate::fault::{
    Fault, Intercept, Interceptor, Role, answer_instead, fault, on_call, replace_reply, switch_off,
    tune,
};
use crate::policy::{Input, Output, refusal};
use crate::settings::{Check, Registration, Settings};
use crate::view::Reply;

use super::edited;

const DEPENDENCY: &str = r#"{"image":{"name":"a/b","digest":"sha256:00"},"memory":1,"disk":1,"arguments":null,"database":false}"#;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "register-failing",
        "agent.register.accepted",
        "fails at every registration",
        || answer_instead(Endpoint::Register, |_, _| Some(failure())),
    ),
    fault(
        "register-late-only",
        "agent.register.accepted",
        "takes no registration but the second",
        || {
            answer_instead(Endpoint::Register, |view, _| {
                (view.registrations == 0).then(failure)
            })
        },
    ),
    fault(
        "register-no-content",
        "agent.register.body",
        "answers a registration with 204",
        || registration(204, None),
    ),
    fault(
        "register-empty-body",
        "agent.register.body",
        "answers a registration with 200 and no body",
        || registration(200, None),
    ),
    fault(
        "register-words",
        "agent.register.body",
        "answers a registration with a word that is no JSON",
        || registration(200, Some("registered")),
    ),
    fault(
        "register-array",
        "agent.register.body",
        "answers a registration with an array",
        || registration(200, Some("[]")),
    ),
    fault(
        "register-dependencies-object",
        "agent.register.body",
        "declares dependencies as an object",
        || registration(200, Some("{\"dependencies\":{}}")),
    ),
    fault(
        "dependency-without-image",
        "agent.register.dependency-form",
        "declares a dependency without an image",
        || declares(|dependency| vec![dependency.replace("image", "container")]),
    ),
    fault(
        "dependency-name-only",
        "agent.register.dependency-form",
        "declares a dependency by its name",
        || declares(|_| vec!["\"a/b\"".to_owned()]),
    ),
    fault(
        "dependency-twice",
        "agent.register.dependency-once",
        "declares a dependency twice",
        || declares(|dependency| vec![dependency.to_owned(), dependency.to_owned()]),
    ),
    fault(
        "arguments-unchecked",
        "agent.register.refused",
        "takes any arguments",
        || switch_off(Check::Arguments),
    ),
    fault(
        "register-refusal-final",
        "agent.register.after-refusal",
        "takes no registration after one that it refused",
        || {
            answer_instead(Endpoint::Register, |view, _| {
                let spoiled = view.registrations > 0 && !view.registered;
                spoiled.then(|| refusal(409, "registered", "this was registered before"))
            })
        },
    ),
    fault(
        "register-again-taken",
        "agent.register.once",
        "takes another registration",
        || switch_off(Check::RegisteredOnce),
    ),
    fault(
        "register-same-taken",
        "agent.register.once",
        "takes the same registration again",
        || {
            let mut first = None;
            on_call(Endpoint::Register, move |view, call, asked, next| {
                if view.registered && first.as_ref() == Some(&asked.body) {
                    return next.push(Output::Answer(call, Answer::json(200, "{}")).into());
                }
                if !view.registered {
                    first = Some(asked.body.clone());
                }
                next.push(Input::Called(call, asked).into());
            })
        },
    ),
    fault(
        "register-again-400",
        "agent.register.once-status",
        "answers another registration with 400",
        || tune(|settings| settings.registered_status = 400),
    ),
    fault(
        "register-again-403",
        "agent.register.once-status",
        "answers another registration with 403",
        || tune(|settings| settings.registered_status = 403),
    ),
    fault(
        "register-again-other-kind",
        "agent.register.once-kind",
        "refuses another registration as a conflict",
        || {
            replace_reply(again, |reply| {
                let body = edited(&reply.answer.body, |it| {
                    it.insert("kind".into(), "conflict".into());
                });
                vec![reply.with_body(body)]
            })
        },
    ),
    fault(
        "register-again-unregisters",
        "agent.register.first-stays",
        "runs no loop after another registration",
        || {
            answer_instead(Endpoint::Run, |view, _| {
                (view.registrations > 1 && view.registered)
                    .then(|| refusal(409, "unregistered", "nothing was registered"))
            })
        },
    ),
    fault(
        "path-register-200",
        "agent.path.register-empty",
        "answers a registration with 200",
        || registration(200, None),
    ),
    fault(
        "path-register-body",
        "agent.path.register-empty",
        "answers a registration with an object",
        || registration(200, Some("{}")),
    ),
    fault(
        "path-arguments-422",
        "agent.path.register-statuses",
        "answers arguments that it does not take with 422",
        || tune(|settings| settings.arguments_status = 422),
    ),
    fault(
        "path-register-again-400",
        "agent.path.register-statuses",
        "answers another registration with 400",
        || tune(|settings| settings.registered_status = 400),
    ),
];

fn failure() -> Answer {
    refusal(500, "internal", "something went wrong")
}

fn again(reply: &Reply<'_>) -> bool {
    reply.endpoint == Endpoint::Register && reply.kind().as_deref() == Some("registered")
}

fn registration(status: u16, body: Option<&'static str>) -> Interceptor {
    struct Answers(Registration);
    impl Intercept<Role> for Answers {
        fn tune(&self, settings: &mut Settings) {
            settings.registration = self.0.clone();
        }
    }
    Box::new(Answers(Registration { status, body }))
}

/// Declares these dependencies, made from a good one.
fn declares(dependencies: fn(&str) -> Vec<String>) -> Interceptor {
    replace_reply(
        |reply| reply.endpoint == Endpoint::Register && reply.is_good(),
        move |reply| {
            let list = dependencies(DEPENDENCY).join(",");
            vec![reply.with_body(format!("{{\"dependencies\":[{list}]}}"))]
        },
    )
}
