//! The command from outside, as people and programs call it.

mod baseline;
mod chain;
mod check;
mod cli;
mod clients;
mod codec;
mod decode;
mod events;
mod init;
mod manners;
mod program;
mod reports;
mod revisions;
mod shell;
