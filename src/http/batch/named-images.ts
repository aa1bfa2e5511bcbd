import { Failure } from '../../failure.ts';
import type { SetOperation } from '../../operations/batch/set.ts';
import type { NamedImages } from '../../operations/definition/job.ts';
import { fieldsOf } from '../../schema/fields.ts';
import type { Form } from '../uploads/form.ts';
import { sentFiles } from '../uploads/form.ts';
import type { FileField, FormShape } from '../uploads/parts.ts';

/** Most further images of one recipe. */
const MAX_IMAGES = 8;

/**
 * The form fields of the further files that an operation's options refer to. Options never name files of the
 * daemon's machine: such a name is that of a file in one of these fields.
 */
export function fileFields({ images, document, options, set }: SetOperation): FileField[] {
  if (!images) return [];
  if (set) return [{ name: 'reference', min: 1, max: 1 }];
  if (document) return [{ name: 'images', min: 0, max: MAX_IMAGES }];
  const has = (name: string) => fieldsOf(options).some((field) => field.name === name);
  return [
    ...(has('image') ? [{ name: 'image', min: 0, max: 1 } as const] : []),
    // The profiles that need no file are texts.
    ...(has('profile') ? [{ name: 'profile', min: 0, max: 1, orText: true } as const] : []),
  ];
}

/** The name of an uploaded file in options, or the text in its place. */
export function nameOfFile({ files, fields }: Form, { name, orText }: FileField) {
  const [file] = files.get(name)!;
  return file ? file.filename || name : orText && fields.get(name);
}

/**
 * The uploaded files of the images that job options refer to.
 *
 * @throws Failure that names the field: for an image that was not sent, sent twice or not referred to
 */
export function namedImages(
  operation: SetOperation,
  options: unknown,
  form: Form,
  shape: FormShape,
): NamedImages | undefined {
  const declared = fileFields(operation);
  if (declared.length === 0) return undefined;
  let param = declared[0]!.name;
  const refuse = (message: string) => new Failure('invalid_request', message, { param });
  const sent = new Map<string, { readonly path: string }>();
  for (const field of declared) {
    param = field.name;
    const files = form.files.get(param)!;
    for (const [index, { path }] of sentFiles(form, param, shape).entries()) {
      const name = files[index]!.filename || param;
      if (sent.has(name))
        throw refuse(`${param}: expected different file names, received ${name} twice`);
      sent.set(name, { path });
    }
  }
  const names = new Set(operation.images!(options));
  const { profile } = options as { readonly profile?: string };
  for (const name of names) {
    if (declared.length > 1) param = name === profile ? 'profile' : 'image';
    if (!sent.has(name)) {
      throw refuse(`${param}: the recipe refers to ${name}, which was not sent in this field`);
    }
  }
  for (const name of sent.keys()) {
    if (!names.has(name)) throw refuse(`${param}: the recipe does not refer to ${name}`);
  }
  return Object.fromEntries(sent);
}
