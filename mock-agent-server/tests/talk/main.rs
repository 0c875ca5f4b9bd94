//! Agent servers without sockets, as conversations.

mod conversation;
mod faults;
mod judged;
mod policy;
