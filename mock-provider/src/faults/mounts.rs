//! Faults of refusing mounts for their places and ids.

use serde_json::Value;

use crate::checks::Check;
use crate::fault::{Fault, Interceptor, fault, switch_off};
use crate::mend::{LISTS, Place, lenient, mounts, places, refused, refused_beside, without};

const COMPONENT: &str = "mount.component-refused";
const COMPONENTWISE: &str = "mount.componentwise";
const FUSE_ID: &str = "mount.fuse-id-refused";
const NESTED: &str = "mount.nested-refused";
const ROOT: &str = "mount.root-refused";
const SAME_PATH: &str = "mount.same-path-refused";

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "root-mount-taken",
        ROOT,
        "takes a mount at the root",
        || switch_off(Check::RootMount),
    ),
    fault(
        "same-path-taken",
        SAME_PATH,
        "takes two mounts at one path",
        || switch_off(Check::SamePath),
    ),
    fault(
        "nested-taken",
        NESTED,
        "takes a mount inside another",
        || switch_off(Check::NestedMount),
    ),
    fault("component-taken", COMPONENT, "takes any component", || {
        switch_off(Check::Component)
    }),
    fault(
        "fuse-id-twice-taken",
        FUSE_ID,
        "takes two FUSE mounts under one id",
        || switch_off(Check::FuseId),
    ),
    // FUSE mounts among themselves.
    fault(
        "fuse-root-taken",
        ROOT,
        "takes a FUSE mount at the root",
        || lenient(|request| moved_from_root(request, |list| list > 0)),
    ),
    fault(
        "path-twice-in-a-list",
        SAME_PATH,
        "compares paths of the two FUSE lists only with each other",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    it.both_fuse(other)
                        && it.path == other.path
                        && it.list == other.list
                        && other.at < it.at
                })
            })
        },
    ),
    fault(
        "path-twice-across-lists",
        SAME_PATH,
        "compares paths of FUSE mounts only within a list",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    it.both_fuse(other) && it.path == other.path && it.list > other.list
                })
            })
        },
    ),
    fault(
        "inside-an-earlier-taken",
        NESTED,
        "does not look for mounts inside an earlier one of their list",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    in_one_fuse_list(other, it) && it.depth_in(other) == 1 && other.at < it.at
                })
            })
        },
    ),
    fault(
        "inside-a-later-taken",
        NESTED,
        "compares a FUSE mount only with those before it in its list",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    in_one_fuse_list(other, it) && it.depth_in(other) == 1 && other.at > it.at
                })
            })
        },
    ),
    fault(
        "inside-another-kind-taken",
        NESTED,
        "looks for nested FUSE mounts only within a list",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    it.both_fuse(other) && it.list != other.list && it.depth_in(other) == 1
                })
            })
        },
    ),
    fault(
        "deep-inside-taken",
        NESTED,
        "looks for a FUSE mount only at the parent of each",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    it.both_fuse(other) && it.depth_in(other) > 1
                })
            })
        },
    ),
    fault(
        "letters-compared",
        COMPONENTWISE,
        "refuses a FUSE path that begins with the letters of another",
        || {
            clashing(|other, it| {
                let joined = |place: &Place| place.path.join("/");
                it.both_fuse(other)
                    && joined(it).starts_with(&joined(other))
                    && it.depth_in(other) == 0
            })
        },
    ),
    fault(
        "paths-folded",
        COMPONENTWISE,
        "compares paths without regard to case",
        || {
            clashing(|other, it| {
                let folded = |place: &Place| place.path.join("/").to_lowercase();
                it.path != other.path && folded(it) == folded(other)
            })
        },
    ),
    fault(
        "last-components-compared",
        COMPONENTWISE,
        "refuses two FUSE mounts with one last component",
        || {
            clashing(|other, it| {
                it.both_fuse(other)
                    && it.path.len() + other.path.len() > 2
                    && it.path.last() == other.path.last()
            })
        },
    ),
    fault(
        "odd-components-refused",
        COMPONENT,
        "refuses components that begin or end with a dot or hold a space",
        || {
            refused(|request| {
                places(request)
                    .iter()
                    .flat_map(|place| &place.path)
                    .any(|it| {
                        let dotted = it.starts_with('.') || it.ends_with('.');
                        (dotted && !it.chars().all(|c| c == '.'))
                            || it == "..."
                            || it.contains(' ')
                            || !it.is_ascii()
                    })
            })
        },
    ),
    fault(
        "empty-components-dropped",
        COMPONENT,
        "leaves empty components out of FUSE paths",
        || {
            lenient(|request| {
                in_paths(request, |path| {
                    path.retain(|component| !component.is_empty())
                })
            })
        },
    ),
    fault(
        "dots-dropped",
        COMPONENT,
        "leaves dots out of FUSE paths",
        || lenient(|request| in_paths(request, |path| path.retain(|component| component != "."))),
    ),
    fault(
        "dot-dots-resolved",
        COMPONENT,
        "goes up for two dots in FUSE paths",
        || {
            lenient(|request| {
                in_paths(request, |path| {
                    let mut resolved = Vec::new();
                    for component in path.drain(..) {
                        if component == ".." {
                            resolved.pop();
                        } else {
                            resolved.push(component);
                        }
                    }
                    *path = resolved;
                })
            })
        },
    ),
    fault(
        "id-twice-in-a-list",
        FUSE_ID,
        "compares ids only across the two FUSE lists",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    same_id(other, it) && it.list == other.list && it.at > other.at
                })
            })
        },
    ),
    fault(
        "id-twice-across-lists",
        FUSE_ID,
        "compares ids only within a FUSE list",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    same_id(other, it) && it.list > other.list
                })
            })
        },
    ),
    fault(
        "ids-folded",
        FUSE_ID,
        "compares ids without regard to case and spaces",
        || {
            clashing(|other, it| {
                let folded = |place: &Place| place.id.as_ref().map(|id| id.trim().to_lowercase());
                it.both_fuse(other) && it.id != other.id && folded(it) == folded(other)
            })
        },
    ),
    fault(
        "ids-of-all-runs",
        FUSE_ID,
        "refuses a FUSE id that another run has",
        ids_of_all_runs,
    ),
    // Volume mounts.
    fault(
        "volume-root-taken",
        ROOT,
        "takes a volume at the root",
        || lenient(|request| moved_from_root(request, |list| list == 0)),
    ),
    fault(
        "volume-path-mended",
        COMPONENT,
        "mends the container paths of volumes",
        || lenient(|request| mended(request, "container_path")),
    ),
    fault(
        "relative-path-unchecked",
        COMPONENT,
        "does not look at the path within a volume",
        || lenient(|request| mended(request, "volume_relative_path")),
    ),
    fault(
        "volume-path-twice",
        SAME_PATH,
        "takes two volume mounts at one path",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    both_volumes(other, it) && it.path == other.path && it.at > other.at
                })
            })
        },
    ),
    fault(
        "volume-in-volume",
        NESTED,
        "takes a volume mount inside another",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    both_volumes(other, it) && it.depth_in(other) > 0
                })
            })
        },
    ),
    fault(
        "fuse-at-a-volume",
        SAME_PATH,
        "takes a FUSE mount at the path of a volume",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    other.list == 0 && it.list > 0 && it.path == other.path
                })
            })
        },
    ),
    fault(
        "fuse-and-volume-nested",
        NESTED,
        "does not compare volume mounts with FUSE mounts",
        || {
            lenient(|request| {
                without(request, |other, it| {
                    (other.list == 0) != (it.list == 0) && it.depth_in(other) > 0
                })
            })
        },
    ),
    fault(
        "volume-letters-compared",
        COMPONENTWISE,
        "refuses a volume's path that begins with the letters of another",
        || {
            clashing(|other, it| {
                let joined = |place: &Place| place.path.join("/");
                both_volumes(other, it)
                    && joined(it).starts_with(&joined(other))
                    && it.depth_in(other) == 0
                    && it.path != other.path
            })
        },
    ),
];

fn in_one_fuse_list(other: &Place, it: &Place) -> bool {
    it.list > 0 && it.list == other.list
}

fn both_volumes(other: &Place, it: &Place) -> bool {
    it.list == 0 && other.list == 0
}

fn same_id(other: &Place, it: &Place) -> bool {
    it.both_fuse(other) && it.id == other.id
}

/// Refuses requests with two mounts for which `clash` holds.
fn clashing(clash: fn(&Place, &Place) -> bool) -> Interceptor {
    refused(move |request| {
        let places = places(request);
        let same = |a: &Place, b: &Place| (a.list, a.at) == (b.list, b.at);
        places.iter().any(|it| {
            places
                .iter()
                .any(|other| !same(it, other) && clash(other, it))
        })
    })
}

/// Gives mounts at the root, of these lists, a place.
fn moved_from_root(request: &mut Value, lists: fn(usize) -> bool) -> bool {
    let mut moved = false;
    for (list, name) in LISTS.into_iter().enumerate() {
        if !lists(list) {
            continue;
        }
        for mount in request
            .get_mut(name)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(path) = mount.get_mut("container_path")
                && path.as_array().is_some_and(Vec::is_empty)
            {
                *path = vec!["conformance-root"].into();
                moved = true;
            }
        }
    }
    moved
}

/// Changes the container paths of FUSE mounts.
fn in_paths(request: &mut Value, change: fn(&mut Vec<String>)) -> bool {
    let mut changed = false;
    for mount in mounts(request).filter(|mount| mount.get("volume_name").is_none()) {
        changed |= mount
            .get_mut("container_path")
            .is_some_and(|path| in_path(path, change));
    }
    changed
}

fn in_path(path: &mut Value, change: fn(&mut Vec<String>)) -> bool {
    let Some(mut components) = strings(path) else {
        return false;
    };
    let before = components.clone();
    change(&mut components);
    if components.is_empty() {
        components.push("conformance".to_owned());
    }
    let changed = components != before && !before.is_empty();
    if changed {
        *path = components.into();
    }
    changed
}

fn strings(path: &Value) -> Option<Vec<String>> {
    path.as_array()?
        .iter()
        .map(|component| component.as_str().map(str::to_owned))
        .collect()
}

/// Leaves what is no component out of that path of volume mounts.
fn mended(request: &mut Value, member: &str) -> bool {
    let mut changed = false;
    for mount in mounts(request).filter(|mount| mount.get("volume_name").is_some()) {
        let retained =
            |path: &mut Vec<String>| path.retain(|it| !["", ".", ".."].contains(&it.as_str()));
        changed |= mount
            .get_mut(member)
            .is_some_and(|path| in_path(path, retained));
    }
    changed
}

fn ids_of_all_runs() -> Interceptor {
    refused_beside(|request, other| {
        let ids = |request: &Value| {
            places(request)
                .into_iter()
                .filter_map(|place| place.id)
                .collect::<Vec<_>>()
        };
        let taken = ids(other);
        ids(request).iter().any(|id| taken.contains(id))
    })
}
