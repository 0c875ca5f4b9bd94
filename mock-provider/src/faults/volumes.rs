//! Faults of refusing a run for its volumes.

use std::collections::HashSet;

use diverge_protocol::wire::FrameType;
use diverge_protocol::wire::request::RunRequest;
use diverge_protocol::wire::run::{Mode, RefusalKind, RunKind, RunResponse};
use serde_json::Value;

use crate::checks::{self, Check};
use crate::fault::{Fault, Intercept, Interceptor, Role, Step, fault, on, rewrite, switch_off};
use crate::mend::{LISTS, is_run_request, lenient_with};
use crate::settings::{Settings, Volume};
use crate::view::{Flow, Message, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "any-volume-taken",
        "volume.unlisted-refused",
        "starts a run with a volume that it does not list",
        || switch_off(Check::UnlistedVolume),
    ),
    fault(
        "unlisted-volume-created",
        "volume.unlisted-refused",
        "starts a run whose only volume is not listed and resembles none that is",
        || {
            lenient_with(|settings, request| {
                let unknown =
                    |name: &str| !listed(settings).any(|volume| name.contains(&volume.name));
                let all = names(request).iter().all(|name| unknown(name));
                all && without_volumes(request, |_| true)
            })
        },
    ),
    fault(
        "volume-found-by-part",
        "volume.unlisted-refused",
        "finds a volume whose name is a part of the name that is asked for",
        || {
            lenient_with(|settings, request| {
                let lists = request.get_mut(LISTS[0]).and_then(Value::as_array_mut);
                lists.into_iter().flatten().fold(false, |any, mount| {
                    let name = mount["volume_name"].as_str().unwrap_or_default();
                    let found = listed(settings)
                        .find(|volume| name != volume.name && name.contains(&volume.name));
                    found
                        .map(|volume| mount["volume_name"] = volume.name.clone().into())
                        .is_some()
                        | any
                })
            })
        },
    ),
    fault(
        "unlisted-beside-listed",
        "volume.unlisted-refused",
        "leaves out volumes that are not listed where another is",
        || {
            lenient_with(|settings, request| {
                let known: HashSet<String> =
                    listed(settings).map(|volume| volume.name.clone()).collect();
                let some = names(request).iter().any(|name| known.contains(name));
                some && without_volumes(request, |name| !known.contains(name))
            })
        },
    ),
    fault(
        "held-unseen",
        "volume.held",
        "starts a run with a volume under an operation",
        || switch_off(Check::Held),
    ),
    fault(
        "held-told-once",
        "volume.held",
        "starts the second run with a volume under an operation",
        || {
            let mut told = HashSet::new();
            on(Flow::FromClient, move |message, next| {
                let held = message.view.settings.volumes.held.clone();
                let names_it = held
                    .is_some_and(|held| run_request(message).is_some_and(|it| only(&it, &held)));
                if names_it && !told.insert(message.scope().0) {
                    next.push(without_any_volume(message));
                } else {
                    next.push(message.pass());
                }
            })
        },
    ),
    fault(
        "mounted-unseen",
        "volume.mounted",
        "starts a run with a volume of another container",
        || switch_off(Check::Mounted),
    ),
    fault(
        "fuse-served-unseen",
        "volume.fuse-served",
        "starts a run with a volume under a FUSE serve",
        || switch_off(Check::FuseServed),
    ),
    fault(
        "mount-unsupported-unseen",
        "volume.mount-unsupported",
        "starts a run with a volume of a mode that is not mounted",
        || switch_off(Check::MountUnsupported),
    ),
    fault(
        "other-mode-taken",
        "volume.mode-mismatch",
        "starts a run with a volume in another mode",
        || switch_off(Check::Mode),
    ),
    fault(
        "asked-mode-told",
        "volume.mode-mismatch",
        "tells the mode that was asked for",
        || told_mode(|request| (!two_modes(request)).then(|| request.volume_mounts[0].mode)),
    ),
    fault(
        "two-modes-taken",
        "volume.two-modes",
        "starts a run that names a volume under two modes",
        || switch_off(Check::TwoModes),
    ),
    fault(
        "last-mode-told",
        "volume.two-modes",
        "tells the mode that was asked for last",
        || {
            told_mode(|request| {
                two_modes(request)
                    .then(|| request.volume_mounts.last().map(|it| it.mode))
                    .flatten()
            })
        },
    ),
    fault(
        "volume-refuses-itself",
        "volume.twice-same-mode",
        "refuses a run that names a volume twice for its own use of it",
        || {
            on(Flow::FromClient, |message, next| {
                let twice = run_request(message).and_then(|request| {
                    let [one, other] = request.volume_mounts.as_slice() else {
                        return None;
                    };
                    let itself = one.volume_name == other.volume_name && one.mode == other.mode;
                    itself.then(|| one.volume_name.clone())
                });
                match twice.filter(|name| is_free(&message.view.settings, name)) {
                    Some(name) => next.extend(refuse(message, RefusalKind::Mounted, name)),
                    None => next.push(message.pass()),
                }
            })
        },
    ),
    fault(
        "last-named-decides",
        "volume.first-named-decides",
        "tells the refusal of the volume named last",
        || {
            lenient_with(|_, request| {
                let distinct: HashSet<_> = names(request).into_iter().collect();
                let list = request.get_mut(LISTS[0]).and_then(Value::as_array_mut);
                let two = list.filter(|list| list.len() == 2 && distinct.len() == 2);
                two.map(|list| list.reverse()).is_some()
            })
        },
    ),
    fault(
        "last-naming-counts",
        "volume.first-named-decides",
        "takes a volume's last mention for its place among the others",
        || {
            lenient_with(|_, request| {
                let names = names(request);
                let again =
                    names.len() > 2 && names.first() == names.last() && names[1] != names[0];
                let list = request
                    .get_mut(LISTS[0])
                    .and_then(Value::as_array_mut)
                    .filter(|_| again);
                list.map(|list| list.remove(0)).is_some()
            })
        },
    ),
    fault(
        "good-volume-excuses",
        "volume.first-named-decides",
        "looks at the first volume only",
        || {
            lenient_with(|settings, request| {
                let names = names(request);
                let first = names.first().is_some_and(|name| is_free(settings, name));
                let mounted = settings
                    .volumes
                    .mounted
                    .as_ref()
                    .map(|volume| volume.name.clone());
                first && without_volumes(request, |name| Some(name) == mounted.as_deref())
            })
        },
    ),
    fault(
        "earlier-hold-kept",
        "volume.earlier-holds-released",
        "keeps the volumes that it held before the one that refused the run",
        || {
            let mut kept: HashSet<String> = HashSet::new();
            on(Flow::FromClient, move |message, next| {
                let request = run_request(message);
                let names: Vec<String> = request
                    .iter()
                    .flat_map(|it| &it.volume_mounts)
                    .map(|it| it.volume_name.clone())
                    .collect();
                let held = message
                    .view
                    .settings
                    .volumes
                    .held
                    .as_ref()
                    .map(|it| &it.name);
                if let Some(name) = names.iter().find(|name| kept.contains(*name)) {
                    return next.extend(refuse(message, RefusalKind::Held, name.clone()));
                }
                if let Some(at) = names.iter().position(|name| Some(name) == held) {
                    let free = names[..at]
                        .iter()
                        .filter(|name| is_free(&message.view.settings, name));
                    kept.extend(free.cloned());
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "second-run-held",
        "volume.mounted-many",
        "refuses a volume that another run has as held",
        || second_run(RefusalKind::Held),
    ),
    fault(
        "refused-per-mount",
        "refusal.then-finish",
        "refuses a run once for each mount of the volume",
        || {
            crate::fault::double(Flow::ToClient, |message| {
                let again = |payload: &[u8]| {
                    RunRequest::decode_json(payload.get(1..).unwrap_or_default())
                        .is_ok_and(|request| request.volume_mounts.len() > 1)
                };
                message.frame.payload.first() == Some(&RunKind::VolumeMounted.byte())
                    && message.is(Part::Refusal, |run| {
                        again(&run.request) && only_one_name(&run.request)
                    })
            })
        },
    ),
    fault(
        "begins-before-refusing",
        "refusal.nothing-deployed",
        "asks the proxy to begin before it looks at the volumes",
        begins_before_refusing,
    ),
    fault(
        "refusal-with-reason",
        "refusal.members-strict",
        "adds a member to a refusal",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Refusal,
                |message| {
                    let text = String::from_utf8_lossy(&message.frame.payload);
                    text.replacen('{', "{\"message\":\"in use\",", 1)
                        .into_bytes()
                        .into()
                },
            )
        },
    ),
    fault(
        "refusal-in-text",
        "refusal.well-formed",
        "names the refused volume without an object",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Refusal,
                |message| {
                    let refusal: Value = serde_json::from_slice(message.body()).unwrap_or_default();
                    [
                        &message.frame.payload[..1],
                        refusal["name"].to_string().as_bytes(),
                    ]
                    .concat()
                    .into()
                },
            )
        },
    ),
];

fn listed(settings: &Settings) -> impl Iterator<Item = &Volume> {
    let it = &settings.volumes;
    [
        &it.held,
        &it.mounted,
        &it.fuse_served,
        &it.mount_unsupported,
        &it.mode,
    ]
    .into_iter()
    .flatten()
}

/// Whether that volume can be mounted.
fn is_free(settings: &Settings, name: &str) -> bool {
    settings
        .volumes
        .mode
        .as_ref()
        .is_some_and(|volume| volume.name == name)
}

/// The volumes that a request names, in order.
fn names(request: &Value) -> Vec<String> {
    let mounts = request
        .get(LISTS[0])
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    mounts
        .filter_map(|mount| mount["volume_name"].as_str())
        .map(str::to_owned)
        .collect()
}

fn without_volumes(request: &mut Value, out: impl Fn(&str) -> bool) -> bool {
    let Some(mounts) = request.get_mut(LISTS[0]).and_then(Value::as_array_mut) else {
        return false;
    };
    let before = mounts.len();
    mounts.retain(|mount| !mount["volume_name"].as_str().is_some_and(&out));
    mounts.len() < before
}

/// The run request that a message is, if it can be read.
fn run_request(message: &Message<'_>) -> Option<RunRequest> {
    is_run_request(message)
        .then(|| RunRequest::decode_json(message.body()).ok())
        .flatten()
}

fn only(request: &RunRequest, volume: &Volume) -> bool {
    !request.volume_mounts.is_empty()
        && request
            .volume_mounts
            .iter()
            .all(|mount| mount.volume_name == volume.name)
}

fn only_one_name(payload: &[u8]) -> bool {
    let request: Value =
        serde_json::from_slice(payload.get(1..).unwrap_or_default()).unwrap_or_default();
    names(&request).into_iter().collect::<HashSet<_>>().len() == 1
}

fn two_modes(request: &RunRequest) -> bool {
    request
        .volume_mounts
        .iter()
        .any(|mount| mount.mode != request.volume_mounts[0].mode)
}

fn without_any_volume(message: &Message<'_>) -> Step {
    let mut request: Value = serde_json::from_slice(message.body()).unwrap_or_default();
    without_volumes(&mut request, |_| true);
    message.with_body(request.to_string().as_bytes())
}

/// A refusal and the finish.
fn refuse(message: &Message<'_>, kind: RefusalKind, name: String) -> Vec<Step> {
    let refusal = RunResponse::Refusal {
        kind,
        name,
        mode: None,
    }
    .encode();
    vec![message.respond(refusal), message.finish()]
}

/// Tells another mode in refusals for the mode.
fn told_mode(mode: fn(&RunRequest) -> Option<Mode>) -> Interceptor {
    on(Flow::ToClient, move |message, next| {
        let refused = message.frame.payload.first() == Some(&RunKind::VolumeMode.byte());
        let asked = message
            .run
            .filter(|_| message.part == Part::Refusal && refused)
            .and_then(|run| {
                let request = RunRequest::decode_json(run.request.get(1..)?).ok()?;
                let name = request.volume_mounts.first()?.volume_name.clone();
                Some((name, mode(&request)?))
            });
        next.push(match asked {
            Some((name, mode)) => {
                let refusal = RunResponse::Refusal {
                    kind: RefusalKind::Mode,
                    name,
                    mode: Some(mode),
                };
                message.with_payload(refusal.encode())
            }
            None => message.pass(),
        });
    })
}

/// Refuses a run with a free volume that another open run has.
pub(crate) fn second_run(kind: RefusalKind) -> Interceptor {
    on(Flow::FromClient, move |message, next| {
        let asked = run_request(message).and_then(|request| {
            let name = request.volume_mounts.first()?.volume_name.clone();
            let client = message.view.client(message.scope().0)?;
            let taken = client
                .runs
                .values()
                .filter(|run| run.run.is_some() && !run.finished)
                .any(|run| {
                    let other = RunRequest::decode_json(run.request.get(1..).unwrap_or_default());
                    other.is_ok_and(|other| {
                        other
                            .volume_mounts
                            .iter()
                            .any(|mount| mount.volume_name == name)
                    })
                });
            taken.then_some(name)
        });
        match asked.filter(|name| is_free(&message.view.settings, name)) {
            Some(name) => next.extend(refuse(message, kind, name)),
            None => next.push(message.pass()),
        }
    })
}

/// Takes a run for granted, asks its proxy to begin, and refuses it then.
fn begins_before_refusing() -> Interceptor {
    struct Late;

    impl Intercept<Role> for Late {
        fn input(
            &mut self,
            view: &crate::view::View,
            input: crate::policy::Input,
            next: &mut Vec<Step>,
        ) {
            match view
                .read_input(&input)
                .filter(|message| unsupported(message).is_some())
            {
                Some(message) => next.push(without_any_volume(&message)),
                None => next.push(input.into()),
            }
        }

        fn output(
            &mut self,
            view: &crate::view::View,
            output: crate::policy::Output,
            next: &mut Vec<Step>,
        ) {
            let refusal = view.read_output(&output).and_then(|message| {
                let run = message
                    .run
                    .filter(|_| message.flow == Flow::ToProxy && message.part == Part::Request)?;
                let request = RunRequest::decode_json(run.request.get(1..)?).ok()?;
                let refusal = checks::refusal(&request, &view.settings)?;
                let tell = |kind, payload: Vec<u8>| message.tell_client(kind, 0, payload);
                Some([
                    tell(FrameType::Response, refusal),
                    tell(FrameType::ResponseFinish, Vec::new()),
                ])
            });
            next.push(output.into());
            next.extend(refusal.into_iter().flatten());
        }
    }

    fn unsupported(message: &Message<'_>) -> Option<()> {
        let request = run_request(message)?;
        let volume = message.view.settings.volumes.mount_unsupported.as_ref()?;
        only(&request, volume).then_some(())
    }

    Box::new(Late)
}
