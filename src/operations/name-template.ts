/** Names of outputs: a template with placeholders in braces. */
const PLACEHOLDERS = ['name', 'ext', 'width', 'height', 'index', 'format'] as const;

/** Those of the outputs of one input, which have no index of their own. */
export const OUTPUT_PLACEHOLDERS = PLACEHOLDERS.filter((name) => name !== 'index');

type Placeholder = (typeof PLACEHOLDERS)[number];

/** Values of the placeholders; undefined where they are not known yet. */
export type TemplateValues = { readonly [Key in Placeholder]: string | number | undefined };

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** The fault of a template; null where it is valid. */
export function templateFault(
  template: string,
  placeholders: readonly Placeholder[] = PLACEHOLDERS,
): string | null {
  for (const [text, placeholder] of template.matchAll(PLACEHOLDER)) {
    if (!placeholders.some((known) => known === placeholder)) {
      return `expected ${placeholders.map((name) => `{${name}}`).join(' ')}, received ${text}`;
    }
  }
  const stray = /[{}]/.exec(template.replace(PLACEHOLDER, ''))?.[0];
  if (stray !== undefined) return `expected braces in pairs, received a ${stray} alone`;
  if (/[/\\]/.test(template)) {
    return 'expected a file name, received a path; --out names the folder';
  }
  if (template === '.' || template === '..') return `expected a file name, received ${template}`;
  return null;
}

/** The name; null where the template needs a value that is not known. */
export function fillTemplate(template: string, values: TemplateValues): string | null {
  let complete = true;
  const name = template.replace(PLACEHOLDER, (_, placeholder: Placeholder) => {
    const value = values[placeholder];
    if (value === undefined) complete = false;
    return String(value ?? '');
  });
  return complete ? name : null;
}
