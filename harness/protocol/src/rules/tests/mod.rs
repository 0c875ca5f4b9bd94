//! Conversations that keep the rules, and conversations that break one each.

mod asks;
mod begin;
mod channels;
mod connection;
mod freedoms;
mod relay;
mod scopes;
mod stream;
mod talk;
