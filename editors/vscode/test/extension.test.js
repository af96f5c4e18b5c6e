// What the extension does with its settings, in place of VS Code and of the language client: run by `npm test`.
'use strict';

const assert = require('node:assert');
const Module = require('node:module');
const path = require('node:path');
const test = require('node:test');

/** The extension with settings, and what it did: clients, messages, processes. */
function loaded(settings, { fails = false, document, documents = [] } = {}) {
  const seen = { clients: [], messages: [], processes: [], commands: {}, listeners: [], stopped: 0 };
  const vscode = {
    ProcessExecution: class { constructor(...words) { this.words = words; } },
    Task: class { constructor(...parts) { this.execution = parts.at(-1); } },
    TaskScope: { Workspace: 2 },
    Uri: { parse: text => new URL(text) },
    tasks: { executeTask: async task => seen.processes.push(task.execution.words) },
    commands: { registerCommand: (name, what) => (seen.commands[name] = what) },
    window: {
      activeTextEditor: document && { document },
      showErrorMessage: text => seen.messages.push(text),
      showInformationMessage: text => seen.messages.push(text),
    },
    workspace: {
      textDocuments: documents,
      getConfiguration: section => ({ get: (name, otherwise) => settings[`${section}.${name}`] ?? otherwise }),
      createFileSystemWatcher: pattern => ({ pattern }),
      onDidChangeConfiguration: listener => seen.listeners.push(listener),
    },
  };
  class LanguageClient {
    constructor(id, name, server, client) {
      seen.clients.push({ id, server, client });
    }

    async start() {
      if (fails) {
        throw new Error('spawn ravel ENOENT');
      }
    }

    async stop() {
      seen.stopped += 1;
    }
  }
  const load = Module._load;
  const file = path.join(__dirname, '..', 'extension.js');
  Module._load = (name, ...rest) =>
    name === 'vscode' ? vscode : name === 'vscode-languageclient/node' ? { LanguageClient } : load(name, ...rest);
  try {
    delete require.cache[require.resolve(file)];
    return { seen, extension: require(file) };
  } finally {
    Module._load = load;
  }
}

const context = () => ({ subscriptions: [] });

test('the server is ravel lsp, without more', async () => {
  const { seen, extension } = loaded({});
  await extension.activate(context());
  assert.deepStrictEqual(seen.clients.map(client => client.server), [{ command: 'ravel', args: ['lsp'] }]);
  assert.deepStrictEqual(seen.clients[0].client.documentSelector, [{ language: 'sac' }]);
  await extension.deactivate();
  assert.strictEqual(seen.stopped, 1);
});

test('settings say where it lies and what it is given', async () => {
  const { seen, extension } = loaded({ 'ravel.path': '/opt/ravel', 'ravel.arguments': ['-I', 'my modules'] });
  await extension.activate(context());
  assert.deepStrictEqual(seen.clients[0].server, { command: '/opt/ravel', args: ['lsp', '-I', 'my modules'] });
});

test('the server can be left out', async () => {
  const { seen, extension } = loaded({ 'ravel.languageServer': false });
  await extension.activate(context());
  assert.strictEqual(seen.clients.length, 0);
  await extension.deactivate();
});

test('a server that does not start is one message', async () => {
  const { seen, extension } = loaded({}, { fails: true });
  await extension.activate(context());
  assert.match(seen.messages.join('\n'), /^`ravel lsp` does not start: spawn ravel ENOENT.*ravel\.path/);
  await extension.deactivate();
  assert.strictEqual(seen.stopped, 0);
});

test('a changed path starts it anew, other settings do not', async () => {
  const settings = {};
  const { seen, extension } = loaded(settings);
  await extension.activate(context());
  settings['ravel.path'] = '/elsewhere/ravel';
  await seen.listeners[0]({ affectsConfiguration: name => name === 'editor.fontSize' });
  assert.strictEqual(seen.clients.length, 1);
  await seen.listeners[0]({ affectsConfiguration: name => name === 'ravel.path' });
  assert.strictEqual(seen.stopped, 1);
  assert.deepStrictEqual(seen.clients.map(client => client.server.command), ['ravel', '/elsewhere/ravel']);
});

test('a program is run from its saved file, without a shell', async () => {
  const document = { languageId: 'sac', isUntitled: false, fileName: '/my programs/a b.sac', save: async () => true };
  const { seen, extension } = loaded({}, { document });
  await extension.activate(context());
  await seen.commands['ravel.run']();
  assert.deepStrictEqual(seen.processes, [['ravel', ['run', '/my programs/a b.sac']]]);
});

test('what is no saved program is not run', async () => {
  for (const document of [undefined, { languageId: 'c' }, { languageId: 'sac', isUntitled: true }]) {
    const { seen, extension } = loaded({}, { document });
    await extension.activate(context());
    await seen.commands['ravel.run']();
    assert.strictEqual(seen.processes.length, 0);
    assert.strictEqual(seen.messages.length, 1);
  }
});

test('a lens says which test of which file is run', async () => {
  const file = fileName => ({
    languageId: 'sac', isUntitled: false, fileName, uri: new URL(`file://${fileName}`), save: async () => true,
  });
  const { seen, extension } = loaded({ 'ravel.arguments': ['-I', 'modules'] }, { documents: [file('/a.sac'), file('/b.sac')] });
  await extension.activate(context());
  await seen.commands['ravel.test']('file:///b.sac', 'test_x');
  await seen.commands['ravel.bench']('file:///b.sac', 'bench_x');
  await seen.commands['ravel.run']('file:///a.sac');
  assert.deepStrictEqual(seen.processes.map(words => words[1]), [
    ['test', '-I', 'modules', '/b.sac', '--filter', '/b.sac:test_x'],
    ['bench', '-I', 'modules', '/b.sac', '--filter', '/b.sac:bench_x'],
    ['run', '-I', 'modules', '/a.sac'],
  ]);
  await seen.commands['ravel.run']('file:///elsewhere.sac');
  assert.strictEqual(seen.messages.length, 1);
});

test('the server leaves programs to the terminal', async () => {
  const { seen, extension } = loaded({});
  await extension.activate(context());
  assert.deepStrictEqual(seen.clients[0].client.initializationOptions, { terminal: true });
});
