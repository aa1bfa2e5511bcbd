import { isObject } from '../../../schema/untrusted.ts';
import { words } from '../../../words.ts';

/** Fields whose value is the client's own JSON, in which names mean what the client says. */
const OPAQUE = new Set(
  words(`args labels parameters parametersJsonSchema partMetadata response responseJsonSchema
   responseSchema`),
);

/** Fields whose list of one Google's examples write as the one. */
const LISTS = new Set(['contents', 'parts', 'tools', 'functionDeclarations']);

const SNAKE = /^[a-z]+(?:_[a-z0-9]+)+$/;

/**
 * A body with the names of its fields in camel case. Google accepts them in snake case too, and its own
 * examples mix both.
 */
export function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (!isObject(value)) return value;
  const renamed: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const camel = SNAKE.test(name)
      ? name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
      : name;
    if (name === '__proto__' || (camel !== name && Object.hasOwn(value, camel))) continue;
    const inner = OPAQUE.has(camel) ? value[name] : inCamelCase(value[name]);
    renamed[camel] = LISTS.has(camel) && isObject(inner) ? [inner] : inner;
  }
  return renamed;
}
