//! What an iteration keeps for the reverse loop: the cheapest set of values from which all others that adjoint code needs are computed again.
//!
//! A minimum cut of the graph of values. An edge goes from an operand to what is cheaply computed from it; the capacity of a value is what it costs to
//! store. Loop-carried values and results of loops have an edge from the source, what adjoint code needs has one to the sink.

use ravel_types::HashMap;
use ravel_wir::Value;
use std::collections::VecDeque;

/// A value of an iteration, and how it comes about.
pub struct Node {
    pub value: Value,
    /// What storing it costs; none if it cannot be stored.
    pub cost: Option<u64>,
    /// What it is computed from again; none if it is not.
    pub operands: Option<Vec<Value>>,
}

const ENDLESS: u64 = u64::MAX / 4;

struct Graph {
    /// Target, capacity left, number of the opposite edge.
    edges: Vec<(usize, u64)>,
    at: Vec<Vec<usize>>,
}

impl Graph {
    fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        self.at[from].push(self.edges.len());
        self.edges.push((to, capacity));
        self.at[to].push(self.edges.len());
        self.edges.push((from, 0));
    }

    /// The edge by which each vertex is reached from the source.
    fn reach(&self) -> Vec<Option<usize>> {
        let mut by = vec![None; self.at.len()];
        let mut queue = VecDeque::from([0]);
        while let Some(v) = queue.pop_front() {
            for &e in &self.at[v] {
                let (to, left) = self.edges[e];
                if left > 0 && to != 0 && by[to].is_none() {
                    by[to] = Some(e);
                    queue.push_back(to);
                }
            }
        }
        by
    }
}

/// The values to store so that all of `needed` can be computed; nothing if one of them can be neither stored nor computed.
pub fn cut(nodes: &[Node], needed: &[Value]) -> Option<Vec<Value>> {
    // Source, sink, then two vertices for each value.
    let number: HashMap<Value, usize> = nodes.iter().enumerate().map(|(k, n)| (n.value, k)).collect();
    let mut graph = Graph { edges: Vec::new(), at: vec![Vec::new(); 2 + 2 * nodes.len()] };
    for (k, node) in nodes.iter().enumerate() {
        graph.edge(2 + 2 * k, 3 + 2 * k, node.cost.unwrap_or(ENDLESS));
        match &node.operands {
            None => graph.edge(0, 2 + 2 * k, ENDLESS),
            Some(operands) => {
                for operand in operands.iter().filter_map(|v| number.get(v)) {
                    graph.edge(3 + 2 * operand, 2 + 2 * k, ENDLESS);
                }
            }
        }
    }
    for k in needed.iter().filter_map(|v| number.get(v)) {
        graph.edge(3 + 2 * k, 1, ENDLESS);
    }
    loop {
        let by = graph.reach();
        if by[1].is_none() {
            break;
        }
        let (mut v, mut flow, mut path) = (1, ENDLESS, Vec::new());
        while let Some(e) = by[v] {
            flow = flow.min(graph.edges[e].1);
            path.push(e);
            v = graph.edges[e ^ 1].0;
        }
        if flow >= ENDLESS {
            return None;
        }
        for e in path {
            graph.edges[e].1 -= flow;
            graph.edges[e ^ 1].1 += flow;
        }
    }
    let by = graph.reach();
    let is_cut = |k: &usize| by[2 + 2 * k].is_some() && by[3 + 2 * k].is_none();
    Some((0..nodes.len()).filter(is_cut).map(|k| nodes[k].value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;

    fn node(value: usize, cost: u64, operands: Option<&[usize]>) -> Node {
        let operands = operands.map(|list| list.iter().map(|v| Value::new(*v)).collect());
        Node { value: Value::new(value), cost: Some(cost), operands }
    }

    #[test]
    fn one_element_is_kept_and_not_the_array() {
        // An element (1) of a large array (0), its square (2) and sine (3).
        let nodes = [node(0, 1 << 20, None), node(1, 8, Some(&[0])), node(2, 8, Some(&[1])), node(3, 8, Some(&[1]))];
        assert_eq!(cut(&nodes, &[Value::new(2), Value::new(3)]), Some(vec![Value::new(1)]));
    }

    #[test]
    fn a_result_is_kept_and_not_its_two_operands() {
        let nodes = [node(0, 8, None), node(1, 8, None), node(2, 8, Some(&[0, 1]))];
        assert_eq!(cut(&nodes, &[Value::new(2)]), Some(vec![Value::new(2)]));
        assert_eq!(cut(&nodes, &[Value::new(2), Value::new(0)]).map(|kept| kept.len()), Some(2));
    }

    #[test]
    fn what_cannot_be_stored_is_computed_again_or_refused() {
        let strange = Node { value: Value::new(1), cost: None, operands: Some(vec![Value::new(0)]) };
        assert_eq!(cut(&[node(0, 8, None), strange], &[Value::new(1)]), Some(vec![Value::new(0)]));
        let strange = Node { value: Value::new(1), cost: None, operands: None };
        assert_eq!(cut(&[strange], &[Value::new(1)]), None);
    }
}
