// The extension starts `ravel lsp`, Ravel's language server, and talks with it over its standard input and output.
// Colors, snippets and brackets come from package.json and need nothing of this.
'use strict';

const { commands, ProcessExecution, Task, tasks, TaskScope, window, workspace } = require('vscode');
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

/** Runs the program in the active editor, as saved, as a task: its output stays when it has ended. */
async function run() {
  const document = window.activeTextEditor?.document;
  if (document?.languageId !== 'sac' || document.isUntitled || !(await document.save())) {
    window.showInformationMessage('Ravel runs programs from files: open one, or save this one.');
    return;
  }
  // A process, not a line for a shell: what is in the names of files means nothing to anyone.
  const process = new ProcessExecution(server().command, ['run', document.fileName]);
  await tasks.executeTask(new Task({ type: 'process' }, TaskScope.Workspace, 'run', 'ravel', process));
}

exports.activate = async context => {
  context.subscriptions.push(
    commands.registerCommand('ravel.run', run),
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
