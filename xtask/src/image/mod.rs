//! Images: the operator's, and the two that the lab's pods need.

mod archive;
mod operator;
mod verbs;

pub(crate) use self::operator::{OPERATOR, build};
pub(crate) use self::verbs::verbs;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use self::archive::{Content, write};
use crate::cache::{Inputs, Piece};
use crate::dirs::Dirs;
use crate::report::Reporter;

/// The image that holds a pod's namespaces.
pub(crate) const PAUSE: &str = "docker.io/library/pause:lab";

/// The pause image, compiled from `lab/images/pause.c`.
pub(crate) fn pause(dirs: &Dirs, reporter: &Reporter) -> Result<PathBuf> {
    let source = dirs.lab_file("images/pause.c");
    let inputs = Inputs::default().text(PAUSE).file(&source)?;
    let folder = Piece::new(dirs, "image-pause", "lab", inputs).get(reporter, |step, draft| {
        let files = draft.join("files");
        std::fs::create_dir(&files)?;
        step.run(
            Command::new("gcc").args(["-static", "-O1", "-s", "-o"]).arg(files.join("pause")).arg(&source),
        )?;
        write(
            step,
            &Content { name: PAUSE, files: &files, entrypoint: &["/pause"] },
            &draft.join("pause.tar"),
        )
    })?;
    Ok(folder.join("pause.tar"))
}
