//! What a launcher says to the processes that it starts, in variables: how many there are, and which one this is.
//!
//! It is looked at before any library is opened. Without a launcher, or where it has started one process, MPI is never touched.

use crate::fault::Fault;

/// Whose launcher it is. Libraries of its own kind find the other ranks; those of another one see a single process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpiexec` of MPICH and its descendants, or Slurm by PMI.
    Pmi,
    /// Slurm by PMIx, or another launcher that speaks it.
    Pmix,
}

/// What the launcher says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    pub launcher: Launcher,
    /// The number of this process.
    pub rank: usize,
    /// How many processes there are; PMIx alone does not say it in a variable.
    pub count: Option<usize>,
}

/// `RAVEL_RANKS`: `off` says that the launcher is none of the program's business.
pub const SWITCH: &str = "RAVEL_RANKS";

/// Whether the launcher is the program's business.
///
/// # Errors
/// The switch is neither on nor off.
pub fn is_on(variable: &dyn Fn(&str) -> Option<String>) -> Result<bool, Fault> {
    match variable(SWITCH).as_deref().map(str::trim) {
        None | Some("" | "on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(Fault::new(format!("{SWITCH} must be on or off, not '{other}'"))),
    }
}

/// What the launcher says, if there is one that has started several processes.
///
/// # Errors
/// A variable does not hold what it should.
pub fn look(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Launch>, Fault> {
    let number = |name: &str| match variable(name) {
        None => Ok(None),
        Some(text) => match text.trim().parse::<usize>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Fault::new(format!("{name} must be a number, not '{text}': the launcher sets it"))),
        },
    };
    let kinds = [
        (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        (Launcher::Pmi, "PMI_RANK", "PMI_SIZE"),
        // `srun` says how many tasks its step has.
        (Launcher::Pmix, "PMIX_RANK", "SLURM_STEP_NUM_TASKS"),
    ];
    for (launcher, rank_name, count_name) in kinds {
        // Slurm counts tasks of every step, also of those that have nothing to do with MPI.
        let (rank, count) = match launcher {
            Launcher::Pmix if variable(rank_name).is_none() => (None, None),
            _ => (number(rank_name)?, number(count_name)?),
        };
        if rank.is_none() && count.is_none() {
            continue;
        }
        if count == Some(1) {
            return Ok(None);
        }
        let Some(rank) = rank else {
            return Err(Fault::new(format!("the launcher has set {count_name} without {rank_name}")));
        };
        if count.is_none() && launcher != Launcher::Pmix {
            return Err(Fault::new(format!("the launcher has set {rank_name} without {count_name}")));
        }
        if let Some(count) = count.filter(|count| rank >= *count) {
            return Err(Fault::new(format!(
                "the launcher says {rank_name}={rank} and {count_name}={count}: ranks count from 0"
            )));
        }
        return Ok(Some(Launch { launcher, rank, count }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<Option<Launch>, String> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string());
        let launch = || if is_on(&find)? { look(&find) } else { Ok(None) };
        launch().map_err(|fault| fault.message)
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let launch = |launcher, rank, count| Ok(Some(Launch { launcher, rank, count }));
        assert_eq!(found(&[]), Ok(None));
        assert_eq!(
            found(&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "2")]),
            launch(Launcher::OpenMpi, 2, Some(4))
        );
        assert_eq!(found(&[("PMI_RANK", "0"), ("PMI_SIZE", "3")]), launch(Launcher::Pmi, 0, Some(3)));
        let slurm = [("PMIX_RANK", "1"), ("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_NTASKS", "8")];
        assert_eq!(found(&slurm), launch(Launcher::Pmix, 1, Some(2)));
        assert_eq!(found(&[("PMIX_RANK", "1")]), launch(Launcher::Pmix, 1, None));
    }

    #[test]
    fn single_processes_have_no_ranks() {
        assert_eq!(found(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]), Ok(None));
        assert_eq!(found(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), Ok(None));
        assert_eq!(found(&[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "1")]), Ok(None));
        // A step of Slurm without MPI.
        assert_eq!(found(&[("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_PROCID", "2")]), Ok(None));
        let several = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(found(&[&several[..], &[("RAVEL_RANKS", "off")]].concat()), Ok(None));
        assert!(found(&[&several[..], &[("RAVEL_RANKS", "on")]].concat()).is_ok_and(|launch| launch.is_some()));
    }

    #[test]
    fn wrong_variables_are_errors() {
        let says = |variables: &[(&str, &str)], what: &str| {
            let error = found(variables).expect_err("it is wrong");
            assert!(error.contains(what), "{error}");
        };
        says(
            &[("OMPI_COMM_WORLD_SIZE", "x"), ("OMPI_COMM_WORLD_RANK", "0")],
            "OMPI_COMM_WORLD_SIZE must be a number, not 'x'",
        );
        says(&[("OMPI_COMM_WORLD_SIZE", "4")], "without OMPI_COMM_WORLD_RANK");
        says(&[("PMI_RANK", "1")], "without PMI_SIZE");
        says(&[("PMI_RANK", "3"), ("PMI_SIZE", "3")], "ranks count from 0");
        says(&[("PMI_RANK", "0"), ("PMI_SIZE", "0")], "ranks count from 0");
        says(&[("PMI_RANK", "-1"), ("PMI_SIZE", "2")], "PMI_RANK must be a number");
        says(&[("RAVEL_RANKS", "4")], "RAVEL_RANKS must be on or off");
    }
}
