//! Conversations that keep the rules, and conversations that break one each.
