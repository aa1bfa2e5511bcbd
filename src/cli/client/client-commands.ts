import { Argument, Command } from 'commander';
import { addFlags, attachField } from '../flags.ts';
import { chatFlags, clientFlags, listFlags, promptField } from './client-flags.ts';
import { mediaCommands } from './media-commands.ts';

const ENVIRONMENT = `
Environment:
  ORIEL_URL       where the daemon is
  ORIEL_API_KEY   API key`;

/** The commands that talk to a daemon, as any client would. */
export function clientCommands(finish: (exitCode: number) => void): Command[] {
  const chat = new Command('chat')
    .description('Talk to a model')
    .addArgument(attachField(new Argument('[prompt]', promptField.description), promptField));
  addFlags(chat, chatFlags, 'Options:');
  addFlags(chat, clientFlags, 'Daemon:');
  chat.addHelpText(
    'after',
    `
Without a prompt, on a terminal, it is a conversation: /exit or ^D ends it.
${ENVIRONMENT}

Examples:
  oriel chat "Why is the sky blue?"
  git diff | oriel chat "Write a commit message for this" --model sandbox-chat
  oriel chat --effort high --system "Answer in one sentence."`,
  );
  chat.action(async (prompt: string | undefined, flags: Record<string, unknown>) => {
    const { runChat } = await import('./chat-run.ts');
    finish(await runChat(prompt, flags));
  });

  const models = new Command('models').description('List the models of a daemon');
  addFlags(models, listFlags, 'Options:');
  addFlags(models, clientFlags, 'Daemon:');
  models.addHelpText('after', ENVIRONMENT);
  models.action(async (flags: Record<string, unknown>) => {
    const { runModels } = await import('./models-run.ts');
    await runModels(flags);
  });
  return [chat, models, ...mediaCommands(finish)];
}
