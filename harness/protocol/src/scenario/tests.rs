use std::sync::Arc;

use super::{Source, Suite};

const FILE: &str = "
iut: provider
fragments:
  answered:
    - proxy sends: answer
    - play: finished
  finished:
    - client expects: channel finish
scenarios:
  - id: provider/test/played-for-a-channel
    title: A fragment that is played for one channel of one run
    requirements: [enqueue.many]
    steps:
      - play: answered
        run: other
        channel: second
      - client expects: finish
";

#[test]
fn a_fragment_is_played_for_a_channel() {
    let source = Source {
        path: "test.yaml".into(),
        text: FILE.into(),
    };
    let suite = Suite::load(&[Arc::new(source)]).expect("a sound file");
    let names: Vec<_> = suite.scenarios[0]
        .steps
        .iter()
        .map(|step| (step.args.run.as_deref(), step.args.channel.as_deref()))
        .collect();
    let played = (Some("other"), Some("second"));
    assert_eq!(names, [played, played, (None, None)]);
}
