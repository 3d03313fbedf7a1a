//! A region in a file, for workers that do not come from one parent and budgets that outlive them.
//!
//! A file is never changed into a region, nor a region's size: others may have it mapped, and
//! touching what a file no longer has ends in a signal. A region that fits is used as it is; for one
//! that does not, or none, a new file is prepared beside it and takes its name in one step. Meanwhile the file that has
//! the name is locked (`flock`), so of several workers that start together one prepares and all use
//! what it prepared.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::layout::MAGIC;
use super::region::{MIN_SIZE, Region, RegionError};
use super::segment::{self, LockedFile, Segment};

/// How often, and how far apart, a worker asks for the file while another prepares it: five seconds.
const TRIES: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(5);

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// The system refuses.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A directory, a device, a pipe.
    #[error("must be a regular file")]
    NotRegular,
    /// It is somebody else's, who could then write what this process reads.
    #[error("must belong to user {euid}, whom this process runs as, and belongs to user {owner}")]
    Owner {
        /// Whose it is.
        owner: u32,
        /// Who this process is.
        euid: u32,
    },
    /// Others may open it.
    #[error("must have mode 0600, and has {mode:04o}")]
    Mode {
        /// Its permission bits.
        mode: u32,
    },
    /// It is something else, which must not be lost.
    #[error("is no region of this extension; remove it if it may be replaced")]
    Foreign,
    /// There is no region in it that this build can read.
    #[error("{why}, so there is nothing to read in it")]
    Unusable {
        /// What it is.
        why: String,
    },
    /// Another process does not finish preparing it.
    #[error("another process has been preparing it for {} s", TRIES * PAUSE.as_millis() as u32 / 1_000)]
    Busy,
}

/// Maps the region that is in the file, or a fresh one if there is none that fits; then
/// [`Region::notice`] says why, unless there was no file.
pub(super) fn open(path: &Path, size: usize) -> Result<Region, RegionError> {
    let problem = |problem| RegionError::File { path: path.to_owned(), problem };
    let boot = boot().map_err(|e| problem(io("read the boot's id", e)))?;
    for _ in 0..TRIES {
        let file = existing(path, true).map_err(problem)?;
        let locked = LockedFile::new(&file).map_err(|e| problem(io("lock it", e)))?;
        // Whoever had it locked may have given its name to another.
        if locked.is_some() && has_name(&file, path) {
            return find(path, &file, size, boot).map_err(problem);
        }
        std::thread::sleep(PAUSE);
    }
    Err(problem(FileProblem::Busy))
}

/// Maps the region that is in the file, and makes none.
pub(super) fn open_existing(path: &Path) -> Result<Region, RegionError> {
    let region = || -> Result<Region, FileProblem> {
        let file = existing(path, false)?;
        let size = file.metadata().map_err(|e| io("look at it", e))?.len() as usize;
        if size < MIN_SIZE {
            return Err(FileProblem::Unusable { why: "is too short".to_owned() });
        }
        let boot = boot().map_err(|e| io("read the boot's id", e))?;
        let segment = Segment::file(&file, size).map_err(|e| io("map it", e))?;
        Region::existing(segment, size, boot).map_err(|why| FileProblem::Unusable { why })
    };
    region().map_err(|problem| RegionError::File { path: path.to_owned(), problem })
}

/// The file, empty if there was none and `create` says so, checked but for its content.
fn existing(path: &Path, create: bool) -> Result<File, FileProblem> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK) // a pipe must not make this wait
        .open(path)
        .map_err(|e| io("open it", e))?;
    let (found, euid) =
        (file.metadata().map_err(|e| io("look at it", e))?, segment::effective_user());
    if !found.is_file() {
        return Err(FileProblem::NotRegular);
    }
    if found.uid() != euid {
        return Err(FileProblem::Owner { owner: found.uid(), euid });
    }
    match found.mode() & 0o7777 {
        0o600 => Ok(file),
        mode => Err(FileProblem::Mode { mode }),
    }
}

fn has_name(file: &File, path: &Path) -> bool {
    let id = |found: &fs::Metadata| (found.dev(), found.ino());
    matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(a), Ok(b)) if id(&a) == id(&b))
}

/// With the file locked: the region in it, or a fresh one.
fn find(path: &Path, file: &File, size: usize, boot: u128) -> Result<Region, FileProblem> {
    let length = file.metadata().map_err(|e| io("look at it", e))?.len();
    let mut magic = [0; 8];
    let why = match length {
        0 => None,
        _ if file.read_exact_at(&mut magic, 0).is_err() || magic != MAGIC.to_ne_bytes() => {
            return Err(FileProblem::Foreign);
        }
        length if length != size as u64 => {
            Some(format!("has {length} bytes, and rate_limit.memory_size is {size}"))
        }
        _ => {
            let segment = Segment::file(file, size).map_err(|e| io("map it", e))?;
            match Region::existing(segment, size, boot) {
                Ok(region) => return Ok(region),
                Err(why) => Some(why),
            }
        }
    };
    let mut region = prepare(path, size, boot)?;
    region.notice = why.map(|why| {
        format!("rate_limit.memory_file: {} {why}: starting with an empty one", path.display())
    });
    Ok(region)
}

/// A fresh region in a file that takes the name `path` once it is complete.
fn prepare(path: &Path, size: usize, boot: u128) -> Result<Region, FileProblem> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    // Left by somebody who was killed here; the lock says that nobody is at it now.
    if let Err(error) = fs::remove_file(&beside)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(io("remove what was left of an earlier attempt", error));
    }
    let region = fill(&beside, size, boot).and_then(|region| {
        fs::rename(&beside, path).map(|()| region).map_err(|e| io("rename it", e))
    });
    if region.is_err() {
        let _ = fs::remove_file(&beside); // the error that matters is the first
    }
    region
}

fn fill(path: &Path, size: usize, boot: u128) -> Result<Region, FileProblem> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|e| io("create it", e))?;
    segment::reserve(&file, size)
        .map_err(|e| io("reserve its space (rate_limit.memory_size)", e))?;
    let segment = Segment::file(&file, size).map_err(|e| io("map it", e))?;
    Region::new(segment, size, boot).map_err(|e| io("prepare it", e))
}

/// Which boot of the host this is: 128 random bits that the kernel made when it started.
fn boot() -> io::Result<u128> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).map_err(io::Error::other)
}

fn io(doing: &'static str, source: io::Error) -> FileProblem {
    FileProblem::Io { doing, source }
}
