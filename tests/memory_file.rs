//! `rate_limit.memory_file`: a region that unrelated processes share, and files that are none.
#![cfg(feature = "shm")]

mod support;

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::store::shm::{Region, RegionConfig, RegionError, Shm};
use rate_limit::store::{Call, Store};
use support::forks::{Child, numbers};

const SIZE: usize = 1 << 20;

/// A directory of its own for each test, removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rate_limit-{}-{test}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn region(&self) -> PathBuf {
        self.0.join("region")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn map(file: &Path, size: usize) -> Result<Region, RegionError> {
    Region::map(&RegionConfig { size, file: Some(file.to_owned()) })
}

fn shm(file: &Path) -> Shm {
    Box::leak(Box::new(map(file, SIZE).unwrap())).shm(0)
}

fn call(algorithm: Algorithm) -> Call<'static> {
    let limit = Limit::new(3, 31_536_000).unwrap();
    Call { algorithm, identity: b"a", earlier: &[], limit, cost: Cost::ONE }
}

fn error(file: &Path) -> String {
    map(file, SIZE).err().unwrap().to_string()
}

#[test]
fn a_budget_outlives_everybody_who_had_it_mapped() {
    let directory = Directory::new("outlives");
    for algorithm in [Algorithm::Counter, Algorithm::Log] {
        for left in [2, 1, 0] {
            // A process that maps, decides and ends, as another would that is no child of this one.
            let decided = Child::run(|| {
                let verdict = shm(&directory.region()).attempt(&call(algorithm)).unwrap();
                assert_eq!((verdict.allowed, verdict.remaining), (true, left));
            });
            assert!(decided.ended_well());
        }
        assert!(!shm(&directory.region()).attempt(&call(algorithm)).unwrap().allowed);
    }
    assert_eq!(fs::metadata(directory.region()).unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn processes_that_start_together_share_one_region() {
    for run in 0..20 {
        let directory = Directory::new(&format!("together-{run}"));
        let admitted = numbers(1);
        let children: Vec<Child> = (0..8)
            .map(|_| {
                Child::run(|| {
                    let mut shm = shm(&directory.region());
                    for _ in 0..3 {
                        let allowed = shm.attempt(&call(Algorithm::Counter)).unwrap().allowed;
                        admitted[0].fetch_add(u64::from(allowed), Relaxed);
                    }
                })
            })
            .collect();
        assert!(children.into_iter().all(Child::ended_well));
        assert_eq!(admitted[0].load(Relaxed), 3);
        assert_eq!(fs::read_dir(&directory.0).unwrap().count(), 1, "something was left behind");
    }
}

#[test]
fn a_region_that_does_not_fit_is_replaced_with_a_notice_and_goes_on_where_it_is_mapped() {
    // What is written where, and what the notice says. The magic stands at 0 and stays.
    let damage: [(&str, u64, &[u8]); 5] = [
        ("layout version 77", 8, &77_u32.to_ne_bytes()),
        ("damaged header", 16, &[1]),
        ("damaged header", 24, &[0xff; 16]),
        ("damaged header", 64, &[0xff; 8]),
        ("damaged locks", 32_768 + 56, &[0xff; 900]),
    ];
    for (n, (says, at, bytes)) in damage.into_iter().enumerate() {
        let directory = Directory::new(&format!("replaced-{n}"));
        let mut old = shm(&directory.region());
        assert!(map(&directory.region(), SIZE).unwrap().notice().is_none());
        old.attempt(&call(Algorithm::Counter)).unwrap();
        let file = fs::File::options().write(true).open(directory.region()).unwrap();
        file.write_all_at(bytes, at).unwrap();
        let region = map(&directory.region(), SIZE).unwrap();
        let notice = region.notice().unwrap();
        assert!(notice.contains(says) && notice.contains("rate_limit.memory_file"), "{notice}");
        assert_eq!(region.usage().counters.used, 0);
        assert!(map(&directory.region(), SIZE).unwrap().notice().is_none());
        assert_eq!(old.attempt(&call(Algorithm::Counter)).unwrap().remaining, 1);
    }
}

#[test]
fn a_region_of_another_boot_is_replaced() {
    let directory = Directory::new("boot");
    drop(map(&directory.region(), SIZE).unwrap());
    // As a region of another boot would be, whose seal is right: made by a build that differs in
    // nothing but the boot that it reads. The boot's id cannot be changed, so the header's is, and
    // with it the seal, which is a plain hash of the six words from 16 on.
    let file = fs::File::options().read(true).write(true).open(directory.region()).unwrap();
    let mut words = [0; 48];
    file.read_exact_at(&mut words, 16).unwrap();
    words[8] ^= 1;
    let seal = siphasher::sip::SipHasher13::new().hash(&words);
    file.write_all_at(&words, 16).unwrap();
    file.write_all_at(&seal.to_ne_bytes(), 64).unwrap();
    let region = map(&directory.region(), SIZE).unwrap();
    assert!(region.notice().unwrap().contains("is from before this host was started"));
}

#[test]
fn a_truncated_or_resized_region_is_replaced() {
    for length in [8, 4096, SIZE as u64 - 1, SIZE as u64 + 1] {
        let directory = Directory::new(&format!("length-{length}"));
        drop(map(&directory.region(), SIZE).unwrap());
        fs::File::options().write(true).open(directory.region()).unwrap().set_len(length).unwrap();
        let region = map(&directory.region(), SIZE).unwrap();
        let notice = region.notice().unwrap();
        assert!(notice.contains(&format!("has {length} bytes")), "{notice}");
        assert_eq!(fs::metadata(directory.region()).unwrap().len(), SIZE as u64);
    }
}

#[test]
fn what_is_no_region_is_refused_and_kept() {
    let directory = Directory::new("foreign");
    for content in [vec![7; SIZE], b"text".to_vec()] {
        fs::write(directory.region(), &content).unwrap();
        fs::set_permissions(directory.region(), fs::Permissions::from_mode(0o600)).unwrap();
        let error = error(&directory.region());
        assert!(error.starts_with("rate_limit.memory_file: ") && error.contains("no region"));
        assert_eq!(fs::read(directory.region()).unwrap(), content);
    }
    fs::set_permissions(directory.region(), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(error(&directory.region()).ends_with("must have mode 0600, and has 0644"));

    fs::remove_file(directory.region()).unwrap();
    symlink(directory.0.join("elsewhere"), directory.region()).unwrap();
    assert!(error(&directory.region()).contains("cannot open it"));
    assert!(error(&directory.0).contains("cannot open it"), "a directory");
    assert!(error(Path::new("/dev/null")).contains("must be a regular file"));
    assert!(error(&directory.0.join("no/such/directory")).contains("cannot open it"));
}

#[test]
fn a_file_of_another_user_is_refused() {
    let directory = Directory::new("owner");
    drop(map(&directory.region(), SIZE).unwrap());
    if std::os::unix::fs::chown(directory.region(), Some(65_534), None).is_err() {
        return eprintln!("not tested: only root can give a file away");
    }
    assert!(error(&directory.region()).contains("belongs to user 65534"));
}

#[test]
fn what_a_killed_worker_left_half_prepared_is_removed() {
    let directory = Directory::new("half");
    fs::write(directory.0.join("region.new"), b"half").unwrap();
    shm(&directory.region()).attempt(&call(Algorithm::Counter)).unwrap();
    assert!(!directory.0.join("region.new").exists());
}

#[test]
fn random_content_behind_a_sound_header_is_survived() {
    let directory = Directory::new("random");
    drop(map(&directory.region(), SIZE).unwrap());
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_ne_bytes()
    })
    .flatten()
    .take(SIZE - 69_632)
    .collect();
    let file = fs::File::options().write(true).open(directory.region()).unwrap();
    file.write_all_at(&noise, 69_632).unwrap(); // all but header and locks
    let shm = shm(&directory.region());
    let now = 1_796_083_200_000_000;
    for n in 0..10_000_u64 {
        for algorithm in [Algorithm::Counter, Algorithm::Log] {
            // Any answer will do; a signal, a panic or an endless loop will not.
            let _ = shm.attempt_at(&Call { identity: &n.to_le_bytes(), ..call(algorithm) }, now);
            let _ = shm.peek_at(&Call { identity: &n.to_le_bytes(), ..call(algorithm) }, now);
        }
    }
}

#[test]
fn a_full_file_system_is_an_error_and_no_signal() {
    let directory = Directory::new("full");
    let mounted = |command: &str, arguments: &[&str]| {
        let status = std::process::Command::new(command).args(arguments).arg(&directory.0).status();
        status.is_ok_and(|status| status.success())
    };
    if !mounted("mount", &["-t", "tmpfs", "-o", "size=512k", "tmpfs"]) {
        return eprintln!("not tested: only root can mount a small file system");
    }
    let (error, left) = (error(&directory.region()), directory.0.join("region.new").exists());
    assert!(mounted("umount", &[]));
    assert!(error.contains("cannot reserve its space (rate_limit.memory_size)"), "{error}");
    assert!(!left);
}
