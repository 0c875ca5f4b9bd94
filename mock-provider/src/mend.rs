//! Requests read more leniently, or more strictly, than the reference reads them.

use serde_json::Value;

use crate::checks;
use crate::fault::{Interceptor, Step, on};
use crate::settings::Settings;
use crate::view::{Flow, Message, Part};

/// The lists of mounts: volumes, FUSE files, FUSE directories.
pub(crate) const LISTS: [&str; 3] = ["volume_mounts", "fuse_file_mounts", "fuse_directory_mounts"];

fn on_request(change: impl Fn(&Message<'_>) -> Option<Vec<Step>> + Send + 'static) -> Interceptor {
    on(
        Flow::FromClient,
        move |message, next| match is_run_request(message).then(|| change(message)).flatten() {
            Some(steps) => next.extend(steps),
            None => next.push(message.pass()),
        },
    )
}

/// Whether the message is a run request that opens a scope.
pub(crate) fn is_run_request(message: &Message<'_>) -> bool {
    let open = message
        .run
        .is_some_and(|run| run.run.is_some() && !run.finished);
    message.part == Part::Request && message.frame.payload.first() == Some(&0) && !open
}

fn parsed(message: &Message<'_>) -> Option<Value> {
    serde_json::from_slice(message.body()).ok()
}

/// Mends requests before they are read: `mend` says whether there was something to mend.
pub(crate) fn lenient(mend: fn(&mut Value) -> bool) -> Interceptor {
    on_request(move |message| {
        let mut request = parsed(message)?;
        mend(&mut request).then(|| vec![message.with_body(request.to_string().as_bytes())])
    })
}

/// Mends requests by what the provider has.
pub(crate) fn lenient_with(mend: fn(&Settings, &mut Value) -> bool) -> Interceptor {
    on_request(move |message| {
        let mut request = parsed(message)?;
        mend(&message.view.settings, &mut request)
            .then(|| vec![message.with_body(request.to_string().as_bytes())])
    })
}

/// Mends the bytes behind a request's first byte.
pub(crate) fn lenient_bytes(mend: fn(&[u8]) -> Option<Vec<u8>>) -> Interceptor {
    on_request(move |message| Some(vec![message.with_body(&mend(message.body())?)]))
}

/// Finishes requests bare for which `when` holds.
pub(crate) fn unread(when: fn(&[u8]) -> bool) -> Interceptor {
    on_request(move |message| when(message.body()).then(|| vec![message.with_payload("")]))
}

/// Finishes JSON requests bare for which `when` holds.
pub(crate) fn parsed_unread(when: fn(&Value) -> bool) -> Interceptor {
    on_request(move |message| when(&parsed(message)?).then(|| vec![message.with_payload("")]))
}

/// Mends memory and disk.
pub(crate) fn sizes(mend: fn(&Value) -> Option<Value>) -> Interceptor {
    on_request(move |message| {
        let mut request = parsed(message)?;
        let mut mended = false;
        for name in ["memory", "disk"] {
            if let Some(size) = request.get_mut(name)
                && let Some(better) = mend(size)
            {
                *size = better;
                mended = true;
            }
        }
        mended.then(|| vec![message.with_body(request.to_string().as_bytes())])
    })
}

/// Answers requests for which `when` holds with an error and the finish.
pub(crate) fn refused(when: impl Fn(&Value) -> bool + Send + 'static) -> Interceptor {
    on_request(move |message| {
        let why = checks::error("not like this");
        when(&parsed(message)?).then(|| vec![message.respond(why), message.finish()])
    })
}

/// Answers requests with an error and the finish where `when` holds for them and the request of an open run.
pub(crate) fn refused_beside(when: fn(&Value, &Value) -> bool) -> Interceptor {
    on_request(move |message| {
        let request = parsed(message)?;
        let client = message.view.client(message.scope().0)?;
        let taken = client.runs.values().filter(|run| !run.finished).any(|run| {
            let other = run
                .request
                .get(1..)
                .and_then(|body| serde_json::from_slice(body).ok());
            other.is_some_and(|other| when(&request, &other))
        });
        let why = checks::error("taken");
        taken.then(|| vec![message.respond(why), message.finish()])
    })
}

/// Every mount of a request.
pub(crate) fn mounts(request: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = request.as_object_mut().into_iter().flatten();
    lists
        .filter(|(name, _)| LISTS.contains(&name.as_str()))
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
}

/// Where a mount stands, in the request and in the container.
#[derive(Debug)]
pub(crate) struct Place {
    /// The place of its list in [`LISTS`].
    pub list: usize,
    /// Its place in the list.
    pub at: usize,
    /// Its container path.
    pub path: Vec<String>,
    /// Its id, for a FUSE mount.
    pub id: Option<String>,
}

impl Place {
    /// How many components it is inside the other.
    pub(crate) fn depth_in(&self, other: &Place) -> usize {
        match self.path.strip_prefix(other.path.as_slice()) {
            Some(rest) => rest.len(),
            None => 0,
        }
    }

    /// Whether both are FUSE mounts.
    pub(crate) fn both_fuse(&self, other: &Place) -> bool {
        self.list > 0 && other.list > 0
    }
}

/// Where the mounts of a request stand.
pub(crate) fn places(request: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    for (list, name) in LISTS.into_iter().enumerate() {
        let mounts = request.get(name).and_then(Value::as_array);
        for (at, mount) in mounts.into_iter().flatten().enumerate() {
            let path = mount["container_path"].as_array().into_iter().flatten();
            places.push(Place {
                list,
                at,
                path: path.filter_map(Value::as_str).map(str::to_owned).collect(),
                id: mount["id"].as_str().map(str::to_owned),
            });
        }
    }
    places
}

/// Takes out every mount that does not get along with another: `clash` is shown the other one, and it.
pub(crate) fn without(request: &mut Value, clash: fn(&Place, &Place) -> bool) -> bool {
    let places = places(request);
    let same = |a: &Place, b: &Place| (a.list, a.at) == (b.list, b.at);
    let out: Vec<_> = places
        .iter()
        .filter(|it| {
            places
                .iter()
                .any(|other| !same(it, other) && clash(other, it))
        })
        .collect();
    for place in out.iter().rev() {
        if let Some(mounts) = request[LISTS[place.list]].as_array_mut() {
            mounts.remove(place.at);
        }
    }
    !out.is_empty()
}
