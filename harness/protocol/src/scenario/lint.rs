//! Proves that malformed probes are one mutation away from a well-formed message.
