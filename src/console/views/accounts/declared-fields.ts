import { useResource } from '../../api/resource.ts';
import type { FormField } from '../../components/form-field.ts';
import { bodyOf, loadGroups } from '../api/document.ts';
import { fieldsOf, type Schema } from '../api/schema.ts';
import { labelOf } from '../images/operations.ts';

/** A field of a command. The command's declaration adds what is absent. */
export interface ActionField extends Partial<FormField> {
  readonly name: string;
  readonly value?: string;
  readonly type?: 'number' | 'text' | 'boolean';
}

/** Fields that are shown as the command declares them. */
export const named = (...names: string[]): ActionField[] => names.map((name) => ({ name }));
export const rare = (...names: string[]): ActionField[] =>
  names.map((name) => ({ name, isRare: true }));

/** The fields of a command; none where the OpenAPI document is on the listener for operations. */
async function loadFields(command: string, signal: AbortSignal): Promise<readonly ActionField[]> {
  const groups = await loadGroups(signal).catch(() => []);
  const endpoint = groups
    .flatMap(({ endpoints }) => endpoints)
    .find(({ path, method }) => method === 'POST' && path === `/v1/admin/${command}`);
  const body = endpoint && bodyOf(endpoint);
  if (!body) return [];
  return fieldsOf(body.content.schema).map(({ name, schema, isRequired, description }) => {
    const choices = schema.enum?.map(String);
    const hint = hintOf(description, choices ? undefined : schema.expects);
    return { name, isRequired, hint, ...controlOf(schema), ...(choices && { choices }) };
  });
}

function controlOf({ type, secret }: Schema): Pick<ActionField, 'type' | 'kind' | 'input'> {
  const input = { spellcheck: false };
  if (type === 'boolean') return { type, kind: 'switch' };
  if (secret === 'always') {
    return { input: { ...input, type: 'password', autocomplete: 'new-password' } };
  }
  const isNumber = type === 'integer' || type === 'number';
  return isNumber ? { type: 'number', input: { ...input, inputMode: 'decimal' } } : { input };
}

function hintOf(description: string, expects: string | undefined): string {
  if (description === '') return '';
  const isShort = expects !== undefined && expects.length <= 60;
  const text =
    isShort && !description.includes(expects) ? `${description}: ${expects}` : description;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/**
 * Fields of a form, with what the declaration of the command adds to them.
 *
 * @returns undefined while the declaration is loaded
 */
export function useDeclared(
  command: string,
  fields: readonly ActionField[],
): readonly (ActionField & FormField)[] | undefined {
  const isComplete = fields.every(({ label }) => label !== undefined);
  const { data } = useResource(
    async (signal) => (isComplete ? [] : loadFields(command, signal)),
    [command],
  );
  if (!data && !isComplete) return undefined;
  return fields.map((field) => {
    const found = { ...data?.find(({ name }) => name === field.name), ...field };
    const { choices, isRequired = false, value } = found;
    const isOptional = choices && !isRequired && value === undefined;
    return {
      ...{ label: labelOf(field.name), ...found },
      ...(isOptional && { choices: [['', 'default'] as const, ...choices] }),
    };
  });
}
