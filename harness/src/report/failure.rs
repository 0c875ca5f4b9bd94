//! One failure, in full.
