//! A plate whose rim is held at 1 warms up: the steps are SaC, the loop and the picture Rust.
//!
//! `cargo run --release -p ravel-lang --example heat`

use ravel::{Array, Error, Module};

const STEPS: &str = "
use Array: all;

/* One step of time: each inner cell becomes the mean of its four neighbours. */
double[m,n] step(double[m,n] u)
{
    return { [i,j] -> 0.25 * (u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1]) | [1,1] <= [i,j] < [m-1,n-1];
             [i,j] -> u[i,j] };
}

double change(double[m,n] u, double[m,n] v) { return maxval(abs(u - v)); }
";

const ROWS: usize = 12;
const COLUMNS: usize = 36;

fn main() -> Result<(), Error> {
    let module = Module::new(STEPS)?;
    let is_rim = |at: usize| {
        let (i, j) = (at / COLUMNS, at % COLUMNS);
        i == 0 || j == 0 || i + 1 == ROWS || j + 1 == COLUMNS
    };
    let first: Vec<f64> = (0..ROWS * COLUMNS).map(|at| f64::from(u8::from(is_rim(at)))).collect();
    let mut plate = Array::new(&[ROWS, COLUMNS], &first)?;
    let mut steps = 0;
    loop {
        let next = module.call("step", &[plate.view()])?;
        let change = module.call("change", &[plate.view(), next.view()])?.scalar::<f64>().unwrap_or(0.0);
        plate = next;
        steps += 1;
        if change < 5e-3 {
            break;
        }
    }
    for row in plate.as_slice::<f64>().unwrap_or_default().chunks(COLUMNS) {
        let shade = |heat: &f64| b" .:-=+*#%@"[((heat * 9.0) as usize).min(9)] as char;
        println!("{}", row.iter().map(shade).collect::<String>());
    }
    println!("{steps} steps; {}", module.instances("step").join(", "));
    Ok(())
}
