import type { Operation } from '../../operations/definition/operation.ts';
import { fieldsOf, type ObjectSchema } from '../../schema/fields.ts';
import { INPUTS, LIMITS, OUTPUTS, outputFlags, runningExcept } from '../batch/image-flags.ts';
import {
  type CommandDefinition,
  type Flags,
  flagOf,
  type Positional,
  usageFailure,
} from '../command/command.ts';

/** The command of one image operation. */
export function imageCommand(operation: Operation): CommandDefinition {
  const { name, summary, gives, options, edit, examples, document, checksum } = operation;
  const first = document && {
    ...{ syntax: `<${document.option}>`, description: document.description },
    ...{ path: true, choices: document.names },
  };
  return {
    name,
    summary,
    positionals: first ? [first, filesPositional] : [filesPositional],
    flags: [
      { heading: 'Options:', schema: options, ...(document && { except: [document.option] }) },
      ...(edit ? [{ heading: 'Editing:', schema: edit.options }] : []),
      INPUTS,
      ...(gives === 'image' || edit ? [OUTPUTS] : []),
      checksum ? runningExcept() : runningExcept('sha256sum'),
      LIMITS,
    ],
    examples: examples.map((example) => `oriel ${example}`),
    async run({ positionals, flags }) {
      const { runImageCommand } = await import('../batch/image-run.ts');
      const files = positionals.at(-1) as string[];
      if (edit) return runImageCommand(chooseOperation(operation, edit, flags), files, flags);
      if (!document) return runImageCommand(operation, files, flags);
      const { readText } = await import('../files/text-argument.ts');
      const origin = positionals[0] as string;
      const isFile = !document.names.includes(origin);
      const load = () => ({
        ...flags,
        [document.option]: isFile ? readText(origin, document.names) : origin,
      });
      return runImageCommand(operation, files, load(), { origin, ...(isFile && { reload: load }) });
    },
  };
}

/** The operation that the flags ask for. @throws Failure with code `usage` for flags of the other one */
function chooseOperation(operation: Operation, edit: Operation, flags: Flags): Operation {
  const given = (schema: ObjectSchema) =>
    fieldsOf(schema).filter(({ name }) => flags[name] !== undefined);
  const edits = given(edit.options);
  const [other] = given(edits.length > 0 ? operation.options : outputFlags);
  if (other === undefined) return edits.length > 0 ? edit : operation;
  const names = fieldsOf(edit.options).map(({ name }) => flagOf(name));
  throw usageFailure(
    edits.length > 0
      ? `${flagOf(edits[0]!.name)} and ${flagOf(other.name)} cannot be combined`
      : `${flagOf(other.name)}: only with ${names.join(' or ')}`,
  );
}

/** Inputs of a command over many files. */
export const filesPositional: Positional = {
  syntax: '[files...]',
  description: 'files, folders with --recursive, quoted patterns, or - for standard input',
  path: true,
};
