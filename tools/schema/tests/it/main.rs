//! The schema of the stream protocol: its file is current, and frames, documentation and scripts agree with it.

mod documented;
mod messages;
mod published;
mod scripts;
