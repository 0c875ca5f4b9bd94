//! The command that plays one scenario again.

use std::path::Path;

use diverge_protocol::rules::Revision;

use crate::cli::{DEFAULT_PATIENCE, PlayedRevision, RunArgs};
use crate::iut::address;
use crate::kinds::Trial;

/// The command line that plays one scenario again; the scenario's id is put behind it.
pub(super) fn replay(args: &RunArgs, trial: &dyn Trial) -> String {
    let quote = |text: &str| {
        shlex::try_quote(text).map_or_else(|_| text.to_owned(), |quoted| quoted.into_owned())
    };
    let mut words = vec![
        "diverge-conformance".to_owned(),
        "run".to_owned(),
        trial.iut().as_str().to_owned(),
    ];
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(name.to_owned());
            words.push(quote(&value));
        }
    };
    flag("--launch", args.launch.clone());
    flag("--url", args.url.as_deref().map(address::shown));
    flag("--provider", args.provider.clone());
    flag("--proxy", args.proxy.clone());
    flag("--agent-server", args.agent_server.clone());
    flag("--client", args.client.clone());
    flag("--mutant", args.mutant.clone());
    match &args.revision {
        Some(PlayedRevision::File(path)) => flag("--revision", Some(path.display().to_string())),
        _ if trial.revision() == Some(Revision::Path) => {
            flag("--revision", Some("path".to_owned()));
        }
        _ => {}
    }
    let patience = (args.patience != DEFAULT_PATIENCE).then(|| args.patience.to_string());
    flag("--patience", patience);
    flag("--cases", args.cases.map(|cases| cases.to_string()));
    flag("--seed", args.cases.map(|_| args.seed.to_string()));
    let events = args.events_revision.map(|it| it.revision().name());
    flag("--events-revision", events.map(str::to_owned));
    flag(
        "--config",
        args.config.as_ref().map(|path| path.display().to_string()),
    );
    for pattern in args
        .scenario
        .iter()
        .filter(|pattern| Path::new(pattern).exists())
    {
        flag("--scenario", Some(pattern.clone()));
    }
    if args.strict {
        words.push("--strict".to_owned());
    }
    words.push("--scenario ".to_owned());
    words.join(" ")
}
