//! Nothing: compiling the dependencies is what is measured.
