//! Large arrays lie in parts with their ranks, as nobody asks for it but `ravel build --ranks`: each rank has memory for its own rows, and little more.

use std::fs;

use ravel_tests::ranks::{self, Build, Launcher};
use ravel_tests::ways::{Way, of_processor};
use ravel_tests::{Failed, Trial};

/// Three arrays of 105 MB at a time.
const SOURCE: &str = "use StdIO: all; use Array: all; use MathArray: all; use Hiding: all;
int main()
{
    m = hideValue(3200);
    n = hideValue(4096);
    u = { [i,j] -> sin(tod((i * 37 + j * 11) % 101)) + exp(sin(tod(i - j))) + sqrt(tod(i + j)) / tod(1 + i) | [i,j] < [m,n] };
    v = u;
    for (k = 0; k < 4; k++) {
        v = with { ([1,1] <= [i,j] < [m - 1,n - 1]) : 0.25 * (v[i - 1,j] + v[i + 1,j] + v[i,j - 1] + v[i,j + 1]) + 0.01 * u[i,j]; } : modarray(v);
    }
    t = with { ([0,0] <= [i,j] < [m,n]) : exp(v[i,j] * 0.01) * tod(i % 7 + j % 5) + sin(v[i,j]); } : fold(+, 0d);
    printf(\"%.17g\\n\", t);
    return 0;
}
";

/// The bytes of the words between two others, such as `117.5 MB`.
fn bytes(text: &str, before: &str, after: &str) -> Option<f64> {
    let (number, unit) = text.split_once(before)?.1.split_once(after)?.0.trim().split_once(' ')?;
    let factor = match unit {
        "bytes" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

fn cost_a_part() -> Result<(), Failed> {
    let place = tempfile::tempdir()?;
    let source = place.path().join("p.sac");
    fs::write(&source, SOURCE)?;
    let backend = of_processor().first().copied().unwrap_or("cranelift");
    let mut alone = Way::Executable { backend }.command(&source, Build::Rows.options(), place.path())?;
    let alone = ravel_tests::finish(alone.env("RAVEL_THREADS", "1").env("RAVEL_STATS", "1"), b"")?;
    let mut command = Launcher::OpenMpi.command(4, &place.path().join("program"));
    command.env_remove("RAVEL_RANKS_SHARE").env_remove("RAVEL_RANKS_CHECK").env("RAVEL_STATS", "1");
    let run = ranks::finish(&mut command, b"", place.path())?;
    let both = || format!("alone: {}--- on ranks: {}", alone.describe(), run.describe());
    if run.status != 0 || alone.status != 0 || run.stdout != alone.stdout || alone.stdout.is_empty() {
        return Err(both().into());
    }
    let whole = bytes(&alone.stderr, "bytes, peak ", ", ").ok_or_else(both)?;
    let memory = run.stderr.split_once("memory per rank: ").map_or("", |(_, text)| text);
    let most = bytes(memory, " to ", ", arrays").ok_or_else(both)?;
    // A quarter, what MPI takes, and the program itself.
    if !run.stderr.contains("  interval: ") || whole < 3e8 || most > 0.6 * whole {
        return Err(both().into());
    }
    Ok(())
}

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("large/arrays-in-rows-cost-a-rank-its-part", cost_a_part)]
}
