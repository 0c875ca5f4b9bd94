//! Requirements and checkers.
