// The extension starts `ravel lsp`, Ravel's language server, and talks with it over its standard input and output.
// Colors, snippets and brackets come from package.json and need nothing of this.
'use strict';

const { commands, ProcessExecution, Task, tasks, TaskScope, Uri, window, workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** What is running, or nothing. */
let client;

/** The command line of the language server, as the settings say. */
function server() {
  const settings = workspace.getConfiguration('ravel');
  return {
    command: settings.get('path') || 'ravel',
    args: ['lsp', ...settings.get('arguments', [])],
  };
}

async function start() {
  if (!workspace.getConfiguration('ravel').get('languageServer', true)) {
    return;
  }
  const { command, args } = server();
  // No `transport`: standard input and output are what `ravel lsp` talks over.
  const started = new LanguageClient('ravel', 'Ravel', { command, args }, {
    documentSelector: [{ language: 'sac' }],
    // Programs run here, in a terminal: the server need not offer that.
    initializationOptions: { terminal: true },
    synchronize: { fileEvents: workspace.createFileSystemWatcher('**/*.sac') },
  });
  client = started;
  try {
    await started.start();
  } catch (error) {
    if (client === started) {
      client = undefined;
    }
    window.showErrorMessage(
      `\`${[command, ...args].join(' ')}\` does not start: ${error.message ?? error}. The setting ravel.path says where ravel lies.`,
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  try {
    await stop();
  } catch {
    // A server that has ended or never answered needs no more than to be forgotten.
  }
  await start();
}

/**
 * Runs a file as saved, as a task: its output stays when it has ended. A lens says which file, and which function of it is a test or
 * a benchmark; without one the active editor counts.
 */
async function run(verb, address, name) {
  const open = typeof address === 'string' ? Uri.parse(address).toString() : undefined;
  const document = open
    ? workspace.textDocuments.find(one => one.uri.toString() === open)
    : window.activeTextEditor?.document;
  if (document?.languageId !== 'sac' || document.isUntitled || !(await document.save())) {
    window.showInformationMessage('Ravel runs programs from files: open one, or save this one.');
    return;
  }
  const words = [verb, ...sources(), document.fileName];
  if (typeof name === 'string') {
    words.push('--filter', `${document.fileName}:${name}`);
  }
  // A process, not a line for a shell: what is in the names of files means nothing to anyone.
  const process = new ProcessExecution(server().command, words);
  await tasks.executeTask(new Task({ type: 'process' }, TaskScope.Workspace, verb, 'ravel', process));
}

/** Of the arguments of the server those that say how programs are read. */
function sources() {
  return workspace.getConfiguration('ravel').get('arguments', []);
}

exports.activate = async context => {
  context.subscriptions.push(
    ...['run', 'test', 'bench'].map(verb =>
      commands.registerCommand(`ravel.${verb}`, (address, name) => run(verb, address, name))),
    commands.registerCommand('ravel.restart', restart),
    workspace.onDidChangeConfiguration(event => {
      if (['ravel.path', 'ravel.arguments', 'ravel.languageServer'].some(name => event.affectsConfiguration(name))) {
        return restart();
      }
    }),
  );
  await start();
};

exports.deactivate = stop;
