//! Conversations that keep the rules, and conversations that break one each.

mod asks;
mod begin;
mod channels;
mod connection;
mod faithful;
mod freedoms;
mod races;
mod relay;
mod scopes;
mod stream;
mod talk;
