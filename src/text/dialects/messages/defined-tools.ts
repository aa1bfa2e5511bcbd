import { isObject, textOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';

/** A tool that Anthropic's documentation defines and the client runs, for upstreams that do not know its type. */
interface DefinedTool {
  readonly description: string;
  readonly parameters: Json;
}

const text = (description: string) => ({ type: 'string', description });
const range = {
  type: 'array',
  items: { type: 'integer' },
  description: 'For view: the first and the last line, from 1; -1 for the end.',
};

function parametersOf(properties: Json, required: readonly string[]): Json {
  return { type: 'object', properties, required, additionalProperties: false };
}

const BASH: DefinedTool = {
  description: 'Runs a command in a bash session, which is kept between calls.',
  parameters: parametersOf(
    {
      command: text('The command; required unless restart is set.'),
      restart: { type: 'boolean', description: 'Whether to start the session anew.' },
    },
    [],
  ),
};

const EDITS = {
  file_text: text('For create: the content of the file.'),
  old_str: text('For str_replace: the text to replace, which must occur exactly once.'),
  insert_line: { type: 'integer', description: 'For insert: the line after which; 0 for the top.' },
  view_range: range,
};

/** @param version the date of the type; earlier ones can undo, and insert `new_str` */
function textEditor(version: number): DefinedTool {
  const isEarly = version < 20250429;
  const undo = isEarly ? ['undo_edit'] : [];
  const inserted = isEarly ? ' For insert: the text.' : '';
  return {
    description: 'Views, creates and edits text files.',
    parameters: parametersOf(
      {
        command: {
          type: 'string',
          enum: ['view', 'create', 'str_replace', 'insert', ...undo],
        },
        path: text('Absolute path of a file or folder.'),
        ...EDITS,
        new_str: text(`For str_replace: the text in its place.${inserted}`),
        ...(!isEarly && { insert_text: text('For insert: the text.') }),
      },
      ['command', 'path'],
    ),
  };
}

const MEMORY: DefinedTool = {
  description:
    'Keeps notes in files below /memories, which stay for later conversations. View this folder before you begin.',
  parameters: parametersOf(
    {
      command: {
        type: 'string',
        enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'],
      },
      path: text('Path of a file or folder below /memories; not for rename.'),
      ...EDITS,
      new_str: text('For str_replace: the text in its place.'),
      insert_text: text('For insert: the text.'),
      old_path: text('For rename: the path so far.'),
      new_path: text('For rename: the new path.'),
    },
    ['command'],
  ),
};

/** The tool of a type such as `bash_20250124`; null for tools that the provider runs. */
function definedTool(type: unknown): DefinedTool | null {
  const [, kind, version] = /^(bash|memory|text_editor)_(\d{8})$/.exec(textOf(type)) ?? [];
  if (kind === undefined) return null;
  if (kind === 'bash') return BASH;
  return kind === 'memory' ? MEMORY : textEditor(Number(version));
}

/**
 * A client's tool with a schema of its own: what Anthropic defines by a type has its documented parameters, and
 * examples and limits are in the description. Null for tools that the provider runs, and for others that are not translated.
 */
export function describedTool(tool: Json): Json | null {
  const { type } = tool;
  const isOwn = type === undefined || type === null || type === 'custom';
  if (isOwn && !tool['input_examples']) return tool;
  const { type: _, max_characters: limit, input_examples: examples, ...own } = tool;
  const defined = isOwn ? null : definedTool(type);
  // The documented parameters are no strict schema.
  const isPlain = textOf(own['name']) !== '' && !own['strict'];
  if (!isOwn && (defined === null || !isPlain)) return null;
  const description = [
    defined?.description ?? textOf(own['description']),
    ...(defined && typeof limit === 'number' ? [`View shows ${limit} characters at most.`] : []),
    ...(Array.isArray(examples) ? examples : [])
      .filter(isObject)
      .map((example) => `Example of an input: ${JSON.stringify(example)}`),
  ];
  return {
    ...own,
    ...(description.some(Boolean) && { description: description.filter(Boolean).join('\n\n') }),
    ...(defined && { input_schema: defined.parameters }),
  };
}
