//! The ids that the checkers of a client name.

use super::super::catalogue::RequirementId;
use super::super::id::ids;

ids! {
    CREDENTIAL_FIRST = "client.connection.credential-first",
    CREDENTIAL_GIVEN = "client.connection.credential-given",
    CREDENTIAL_ONCE = "client.connection.credential-once",
    BINARY = "client.connection.binary",
    FRAMES = "client.connection.frames",
    RUN_READABLE = "client.run.readable",
    RUN_ONCE = "client.run.once",
    CHANNEL_READABLE = "client.channel.readable",
    CHANNEL_OPEN_SCOPE = "client.channel.open-scope",
    CHANNEL_FREE_NUMBER = "client.channel.free-number",
    CHANNEL_ANSWERS = "client.channel.answers",
    LINE_OBJECT = "client.line.object",
    LINE_MEMBERS = "client.line.members",
    FINISH_LAST = "client.finish.last",
    FINISH_EXIT = "client.finish.exit",
}
