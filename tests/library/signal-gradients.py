"""References of signal-gradients.sac: the gradients are those of differences."""

from cases import Table

table = Table()
for name in "transforms", "filter", "sections", "both ways", "wavelets":
    table.exact(name, True, "bool")
table.write()
