//! `matchwire reload` and `matchwire connections`: they ask the hub that runs on this machine.

use std::{io::Write, path::Path};

use crate::{
    control::{CONNECTION_COLUMNS, ControlError, ControlRequest, ControlResponse, ask},
    table::{Format, Table},
};

/// Asks the hub at this socket, and prints what it answers.
///
/// # Errors
///
/// If there is no hub, if it refuses, or if the output cannot be written.
pub async fn run(
    socket: &Path,
    request: &ControlRequest,
    format: Format,
    out: &mut impl Write,
) -> Result<(), ControlError> {
    print(ask(socket, request).await?, format, out)
}

fn print(
    response: ControlResponse,
    format: Format,
    out: &mut impl Write,
) -> Result<(), ControlError> {
    match response {
        ControlResponse::Done { done } => writeln!(out, "{done}")?,
        ControlResponse::Connections { rows } => {
            let mut table = Table::new(out, format, CONNECTION_COLUMNS)?;
            for row in &rows {
                table.row(row.each_ref().map(Option::as_deref))?;
            }
        }
        ControlResponse::Refused { reason } => return Err(ControlError::Refused(reason)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_listed_with_what_is_known_of_them() {
        let cells = ["0-17", "4", "", "stream", "61", "2", "1", "300", "4", "9"];
        let row = cells.map(|cell| Some(cell.to_owned()).filter(|cell| !cell.is_empty()));
        let printed = |format| {
            let mut out = Vec::new();
            let response = ControlResponse::Connections { rows: vec![row.clone()] };
            print(response, format, &mut out).expect("it is written");
            String::from_utf8(out).expect("text")
        };
        let text = printed(Format::Text);
        assert_eq!(text.lines().nth(1), Some("0-17\t4\t-\tstream\t61\t2\t1\t300\t4\t9"));
        let json = printed(Format::JsonLines);
        assert!(json.starts_with(r#"{"id":"0-17","account":"4","peer":null,"#), "{json}");
    }
}
