//! connect
