//! The scenarios for proxies, which no command plays yet, against the reference of both revisions.

use std::time::Duration;

use diverge_conformance::iut::Plug;
use diverge_conformance::kinds::proxy::Proxy;
use diverge_conformance::kinds::{Kind, Selection, Setting};
use diverge_conformance::play::Patience;
use diverge_conformance::runner::Progress;
use diverge_conformance::verdict::Verdict;

#[tokio::test]
async fn the_reference_passes_every_scenario_of_both_revisions() {
    let setting = Setting {
        plug: Plug::Reference(None),
        config: Proxy.in_tree(),
        jobs: 8,
        patience: Patience::new(Duration::from_secs(30)),
        strict: true,
        generated: None,
        events_revision: None,
    };
    let all = Selection::Patterns(Vec::new());
    let trials = Proxy.trials(&all, None, &setting).expect("the files load");
    assert_eq!(trials.len(), 2);
    for trial in trials {
        let mut flagged = Vec::new();
        let mut keep = |progress: Progress| {
            if let Progress::Done(outcome) = progress
                && outcome.verdict != Verdict::Pass
            {
                flagged.push(format!("{}: {:?}", outcome.id, outcome.message));
            }
        };
        let finished = trial.play(&mut keep).await.expect("the reference starts");
        assert_eq!(flagged, Vec::<String>::new());
        assert_eq!(finished.summary.count(Verdict::Pass), trial.scenarios());
    }
}
