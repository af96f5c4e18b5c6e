-- Neovim as a client: a lens evaluates, a field is renamed, a lens runs the program. The last line that is printed says how far it came.
vim.filetype.add({ extension = { sac = "sac" } })
vim.lsp.config("ravel", { cmd = { vim.env.RAVEL_BIN, "lsp" }, filetypes = { "sac" }, root_markers = { "ravel.toml" } })
vim.lsp.enable("ravel")
vim.cmd.edit(vim.env.RAVEL_TEST_FILE)

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function await(what, holds)
  if not vim.wait(30000, holds, 50) then
    print("\nno " .. what .. ":\n" .. text())
    vim.cmd("cquit")
  end
end

local function go(pattern)
  local at = vim.fn.searchpos(pattern, "w")
  vim.api.nvim_win_set_cursor(0, { at[1], at[2] - 1 })
end

local function lenses(count)
  await("lenses", function()
    vim.lsp.codelens.refresh({ bufnr = 0 })
    vim.wait(100)
    return #vim.lsp.codelens.get(0) >= count
  end)
end

await("client", function()
  local client = vim.lsp.get_clients({ bufnr = 0 })[1]
  return client and client.initialized
end)
lenses(2)
go("// >")
vim.lsp.codelens.run()
await("result", function() return text():find("// = double: 5.0", 1, true) end)
go("double x")
go("x;")
vim.lsp.buf.rename("abscissa")
await("new name", function() return text():find("p.abscissa * p.abscissa", 1, true) end)
local shown
vim.lsp.handlers["window/showMessage"] = function(_, message) shown = message.message end
vim.cmd("silent write")
-- Once the text is known in which the names have changed.
vim.wait(1000)
lenses(2)
go("int main")
vim.lsp.codelens.run()
await("message", function() return shown end)
print("\n" .. shown)
vim.cmd("qall!")
