//! The lane diagram.
