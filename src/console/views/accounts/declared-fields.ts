import { sendJson } from '../../api/request.ts';
import { useResource } from '../../api/resource.ts';
import { fieldsOf, type Schema } from '../api/schema.ts';
import { labelOf } from '../images/operations.ts';

/** A field of a form; an empty one is not sent. The command's declaration adds what is absent. */
export interface ActionField {
  readonly name: string;
  readonly label?: string;
  readonly hint?: string;
  readonly value?: string;
  readonly type?: 'number' | 'text' | 'password' | 'boolean';
  /** Makes it a list to choose from. */
  readonly choices?: readonly (string | readonly [value: string, label: string])[];
  readonly isRequired?: boolean;
  /** Whether few need it: it is below the others, folded. */
  readonly isRare?: boolean;
}

/** Fields that are shown as the command declares them. */
export const named = (...names: string[]): ActionField[] => names.map((name) => ({ name }));
export const rare = (...names: string[]): ActionField[] =>
  names.map((name) => ({ name, isRare: true }));

/** The part of the OpenAPI document that declares commands. */
interface Commands {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly post?: {
          readonly requestBody?: {
            readonly content: { readonly 'application/json': { readonly schema: Schema } };
          };
        };
      }
    >
  >;
}

/** Loaded once for all forms. */
let loaded: Promise<Commands> | undefined;

async function loadFields(command: string): Promise<ReadonlyMap<string, ActionField>> {
  loaded ??= sendJson<Commands>('openapi.json');
  try {
    const { paths } = await loaded;
    const body = paths[`/v1/admin/${command}`]?.post?.requestBody;
    const fields = body ? fieldsOf(body.content['application/json'].schema) : [];
    return new Map(
      fields.map(({ name, schema, isRequired, description }) => {
        const choices = schema.enum?.map(String);
        const type = typeOf(schema);
        const hint = hintOf(description, choices ? undefined : schema.expects);
        return [name, { name, isRequired, hint, type, ...(choices && { choices }) }];
      }),
    );
  } catch {
    // It may be on the listener for operations: the names of the fields remain.
    loaded = undefined;
    return new Map();
  }
}

function typeOf({ type, secret }: Schema): NonNullable<ActionField['type']> {
  if (secret === 'always') return 'password';
  if (type === 'boolean') return type;
  return type === 'integer' || type === 'number' ? 'number' : 'text';
}

function hintOf(description: string, expects: string | undefined): string {
  if (description === '') return '';
  const isShort = expects !== undefined && expects.length <= 60;
  const text =
    isShort && !description.includes(expects) ? `${description}: ${expects}` : description;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** A field with all that a form needs. */
export type CompleteField = ActionField & Required<Pick<ActionField, 'label' | 'type'>>;

/**
 * Fields of a form, with what the declaration of the command adds to them.
 *
 * @returns undefined while the declaration is loaded
 */
export function useDeclared(
  command: string,
  fields: readonly ActionField[],
): readonly CompleteField[] | undefined {
  const isComplete = fields.every(({ label }) => label !== undefined);
  const { data } = useResource(
    async () => (isComplete ? new Map<string, ActionField>() : loadFields(command)),
    [command],
  );
  if (!data && !isComplete) return undefined;
  return fields.map((field) => {
    const found = { ...data?.get(field.name), ...field };
    const { choices, isRequired = false, value } = found;
    const isOptional = choices && !isRequired && value === undefined;
    return {
      ...{ label: labelOf(field.name), type: 'text' as const, ...found },
      ...(isOptional && { choices: [['', 'by default'] as const, ...choices] }),
    };
  });
}
