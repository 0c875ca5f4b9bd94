//! The hidden commands that play an in-tree reference as a program of its own.

use serde_json::value::RawValue;

use super::complain;
use crate::cli::ClientArgs;
use crate::client::{self, Given};
use crate::codec::forms;
use crate::events::emitter::{self, REFERENCE};
use crate::report::style::say;
use crate::verdict::Exit;

/// `emit-events`: writes the stream of the reference, or of an emitter by name.
pub(crate) fn emit(name: Option<&str>) -> Exit {
    let emitter = match name {
        Some(name) => emitter::find(name),
        None => Some(&REFERENCE),
    };
    let Some(emitter) = emitter else {
        complain(&unknown("emitter", name));
        return Exit::Usage;
    };
    emitter.lines.iter().for_each(|line| say(line));
    Exit::Conforms
}

/// `client`: asks for the run that the environment tells of, as the reference does, or as a form by name. Its exit
/// status is the client's own.
pub(crate) async fn client(args: &ClientArgs) -> u8 {
    let form = match &args.name {
        Some(name) => client::find(name),
        None => Some(&client::REFERENCE),
    };
    let Some(form) = form else {
        complain(&unknown("client", args.name.as_deref()));
        return Exit::Usage.code();
    };
    let variable = |name: &str| {
        std::env::var(name).map_err(|error| complain(&format!("the variable {name}: {error}")))
    };
    let (Ok(url), Ok(credential), Ok(request)) = (
        variable("CONFORMANCE_URL"),
        variable("CONFORMANCE_CREDENTIAL"),
        variable("CONFORMANCE_REQUEST"),
    ) else {
        return Exit::Usage.code();
    };
    let messages: Vec<Box<RawValue>> = match std::env::var("CONFORMANCE_ENQUEUE") {
        Ok(messages) => match serde_json::from_str(&messages) {
            Ok(messages) => messages,
            Err(error) => {
                complain(&format!("the variable CONFORMANCE_ENQUEUE: {error}"));
                return Exit::Usage.code();
            }
        },
        Err(_) => Vec::new(),
    };
    let told = messages.iter().map(|message| message.get().to_owned());
    let given = Given {
        url,
        credential,
        request,
        stops: args.stop || !messages.is_empty(),
        enqueues: args.enqueue.iter().cloned().chain(told).collect(),
    };
    match client::speak(form, given, tokio::io::stdout()).await {
        Ok(status) => status,
        Err(error) => {
            complain(&error.to_string());
            Exit::Fails.code()
        }
    }
}

/// `codec`: answers lines as the reference does, or as a form by name.
pub(crate) async fn codec(name: Option<&str>) -> Exit {
    let form = match name {
        Some(name) => forms::find(name),
        None => Some(&forms::REFERENCE),
    };
    let Some(form) = form else {
        complain(&unknown("codec", name));
        return Exit::Usage;
    };
    match forms::speak(form, tokio::io::stdin(), tokio::io::stdout()).await {
        Ok(()) => Exit::Conforms,
        Err(error) => {
            complain(&error.to_string());
            Exit::Fails
        }
    }
}

fn unknown(what: &str, name: Option<&str>) -> String {
    format!(
        "no {what} is called `{}`; `diverge-conformance list mutants` names the faults, variants and hollow ones",
        name.unwrap_or_default()
    )
}
