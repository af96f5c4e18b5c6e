//! Memory in kernels: what addresses point to, how often their parts are written, and accesses as subscripts.
//!
//! Offsets are kept as sums of terms and divided by the size of the elements when an access is written.

use cranelift_entity::EntityRef;
use ravel_nest::ir::{BinOp, Op, Prim, Region, Ty, Value};
use ravel_types::HashMap;

use crate::expr::{self, CType, Expr, Prec, Subscript, c_type};
use crate::print::Printer;
use crate::ranges;

/// Where an address points.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Private,
    Local,
    Constant,
}

impl Space {
    pub fn qualifier(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Private => "private",
            Space::Local => "local",
            Space::Constant => "constant",
        }
    }
}

/// A piece of memory that addresses start from.
pub(crate) struct Base {
    pub name: String,
    pub space: Space,
    /// The type of all accesses, if they agree.
    pub elem: Option<Prim>,
    pub written: bool,
}

/// An address: a base and offsets in bytes.
#[derive(Clone)]
pub(crate) struct Address {
    pub base: Value,
    pub terms: Vec<Value>,
}

impl<'a> Printer<'a> {
    pub fn base_of(&mut self, ptr: Value) -> Result<Address, String> {
        if let Some(address) = self.addresses.get(&ptr) {
            return Ok(address.clone());
        }
        let address = match self.defs.get(&ptr).map(|inst| &inst.op) {
            None if self.k.arguments.contains(&ptr) => self.new_base(ptr, Space::Global, None),
            Some(Op::StackSlot { .. }) => self.new_base(ptr, Space::Private, None),
            Some(Op::LocalSlot { .. }) => self.new_base(ptr, Space::Local, None),
            Some(Op::DataAddr(data)) => {
                let contents = &self.k.module.data[*data];
                if !contents.relocs.is_empty() {
                    return Err("static data with addresses in it".to_string());
                }
                self.cut.data.insert(data.index() as u32, contents.bytes.clone());
                self.new_base(ptr, Space::Constant, Some(format!("data{}", data.index())))
            }
            Some(Op::PtrAdd(base, bytes)) => {
                let mut address = self.base_of(*base)?;
                address.terms.push(*bytes);
                address
            }
            _ => return Err("an address that is no device buffer".to_string()),
        };
        self.addresses.insert(ptr, address.clone());
        Ok(address)
    }

    pub fn new_base(&mut self, ptr: Value, space: Space, name: Option<String>) -> Address {
        let name = name.unwrap_or_else(|| self.names.array());
        self.bases.insert(ptr, Base { name, space, elem: None, written: false });
        Address { base: ptr, terms: Vec::new() }
    }

    /// Finds what memory is accessed and as what.
    pub fn find_bases(&mut self, region: &'a Region) -> Result<(), String> {
        let mut accessed: HashMap<Value, Vec<Prim>> = HashMap::default();
        self.accesses(region, &mut accessed)?;
        for (base, prims) in accessed {
            let same = prims.iter().all(|p| *p == prims[0]);
            let typed = same && self.bases[&base].space != Space::Constant;
            self.bases.get_mut(&base).expect("every access has a base").elem = typed.then_some(prims[0]);
        }
        Ok(())
    }

    pub fn accesses(&mut self, region: &'a Region, accessed: &mut HashMap<Value, Vec<Prim>>) -> Result<(), String> {
        for inst in &region.insts {
            match &inst.op {
                Op::Load { ty, ptr, .. } => {
                    let base = self.base_of(*ptr)?.base;
                    accessed.entry(base).or_default().push(ty.prim);
                }
                Op::Store { value, ptr, .. } => {
                    let base = self.base_of(*ptr)?.base;
                    self.bases.get_mut(&base).expect("just made").written = true;
                    accessed.entry(base).or_default().push(self.k.values[*value].prim);
                }
                _ => {}
            }
            for nested in inst.op.regions() {
                self.accesses(nested, accessed)?;
            }
        }
        Ok(())
    }

    pub fn count_address(&mut self, ptr: Value) {
        let terms = self.addresses.get(&ptr).map(|a| a.terms.clone()).unwrap_or_default();
        for term in terms {
            self.count_term(term);
        }
    }

    /// Sums and multiples inside addresses are written out at each access.
    pub fn count_term(&mut self, v: Value) {
        match self.sum_of(v) {
            Some((a, b)) => {
                self.address_only[v] = true;
                self.count_term(a);
                if let Some(b) = b {
                    self.count_term(b);
                }
            }
            None => self.uses[v] += 1,
        }
    }

    /// The operands of a sum, difference or product with a constant.
    pub fn sum_of(&self, v: Value) -> Option<(Value, Option<Value>)> {
        match self.defs.get(&v).map(|inst| &inst.op)? {
            Op::Binary(BinOp::IAdd | BinOp::ISub, a, b) => Some((*a, Some(*b))),
            Op::Binary(BinOp::IMul, a, b) if self.const_of(*b).is_some() => Some((*a, None)),
            Op::Binary(BinOp::Shl, a, b) if self.const_of(*b).is_some_and(|k| (0..32).contains(&k)) => Some((*a, None)),
            _ => None,
        }
    }

    pub fn const_of(&self, v: Value) -> Option<i64> {
        match self.defs.get(&v).map(|inst| &inst.op)? {
            Op::Const { ty, bits } if ty.prim.is_int() => {
                let unused = 64 - ty.prim.bits();
                Some(((bits << unused) as i64) >> unused)
            }
            _ => None,
        }
    }

    /// An element, or an aligned vector of elements, in memory.
    pub fn place(&mut self, ptr: Value, offset: i32, ty: Ty) -> Expr {
        let prim = ty.prim;
        let address = self.addresses[&ptr].clone();
        let size = i64::from(prim.bytes());
        let base = &self.bases[&address.base];
        let (name, typed, qualifier) = (base.name.clone(), base.elem == Some(prim), base.space.qualifier());
        let base_written = base.written;
        let size = if typed { size } else { 1 };
        let mut sum = Subscript::default();
        let mut bytes = 0;
        for term in address.terms {
            self.term(term, 1, size, &mut sum, &mut bytes);
        }
        sum.constant = (bytes + i64::from(offset)) / size;
        if ty.is_vector() {
            let constness = if base_written { "" } else { "const " };
            let pointer = format!("{qualifier} {constness}{} *", expr::type_name(ty));
            return match sum.divided(i64::from(ty.lanes)).filter(|_| typed) {
                Some(sum) => Expr::atom(format!("(({pointer}){name})[{}]", sum.write()), CType::Real),
                None => Expr {
                    text: format!("*({pointer})({name} + {})", sum.write()),
                    prec: Prec::Unary,
                    ctype: CType::Real,
                },
            };
        }
        let sum = sum.write();
        if typed {
            return Expr::atom(format!("{name}[{sum}]"), expr::ctype_of(prim));
        }
        let mut place = Expr::atom(format!("*({qualifier} {} *)({name} + {sum})", c_type(prim)), expr::ctype_of(prim));
        place.prec = Prec::Unary;
        place
    }

    /// Adds `v * factor` bytes to a sum of elements.
    pub fn term(&mut self, v: Value, factor: i64, size: i64, sum: &mut Subscript, bytes: &mut i64) {
        if let Some(k) = self.const_of(v) {
            *bytes += k * factor;
            return;
        }
        let product = match self.defs.get(&v).map(|inst| &inst.op) {
            Some(Op::Binary(BinOp::IAdd, a, b)) => {
                self.term(*a, factor, size, sum, bytes);
                self.term(*b, factor, size, sum, bytes);
                return;
            }
            Some(Op::Binary(BinOp::ISub, a, b)) => {
                self.term(*a, factor, size, sum, bytes);
                self.term(*b, -factor, size, sum, bytes);
                return;
            }
            Some(Op::Binary(BinOp::IMul, a, b)) => self.const_of(*b).map(|k| (*a, factor * k)),
            Some(Op::Binary(BinOp::Shl, a, b)) => {
                self.const_of(*b).filter(|k| (0..32).contains(k)).map(|k| (*a, factor << k))
            }
            _ => None,
        };
        if let Some((a, factor)) = product {
            self.term(a, factor, size, sum, bytes);
            return;
        }
        let x = self.expr(v);
        let range = self.range(v);
        if factor % size == 0 {
            sum.terms.push((x, factor / size, range));
            return;
        }
        // Offsets of elements are multiples of their size.
        let wide = ranges::unbounded(BinOp::IMul, range, (factor, factor));
        let whole = match size % factor == 0 {
            true => format!("{} / {}", x.signed().within(Prec::Product), size / factor),
            false => format!("{} * {factor} / {size}", x.long().within(Prec::Product)),
        };
        let quotient = Expr {
            text: whole,
            prec: Prec::Product,
            ctype: if size % factor == 0 { x.signed().ctype } else { CType::Long },
        };
        let quotient = if factor < 0 { Expr::atom(format!("({})", quotient.text), quotient.ctype) } else { quotient };
        sum.terms.push((quotient, 1, wide.unwrap_or(ranges::full(Prim::I64))));
    }
}
