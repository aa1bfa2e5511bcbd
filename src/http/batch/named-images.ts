import { Failure } from '../../failure.ts';
import type { SetOperation } from '../../operations/batch/set.ts';
import type { NamedImages } from '../../operations/definition/job.ts';
import type { Form } from '../uploads/form.ts';
import { sentFiles } from '../uploads/form.ts';
import type { FileField, FormShape } from '../uploads/parts.ts';

/** Most further images of one recipe. */
const MAX_IMAGES = 8;

/**
 * The form field of the further images that an operation's options refer to; undefined where there are none.
 * Options never name files of the daemon's machine: such a name is that of a file in this field.
 */
export function imagesField({ images, document, set }: SetOperation): FileField | undefined {
  if (!images) return undefined;
  if (set) return { name: 'reference', min: 1, max: 1 };
  return document ? { name: 'images', min: 0, max: MAX_IMAGES } : { name: 'image', min: 0, max: 1 };
}

/** The name of an uploaded image in options. */
export function nameOfImage({ files }: Form, field: FileField): string | undefined {
  const [file] = files.get(field.name)!;
  return file && (file.filename || field.name);
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
  const field = imagesField(operation);
  if (!field) return undefined;
  const { name: param } = field;
  const refuse = (message: string) => new Failure('invalid_request', message, { param });
  const files = form.files.get(param)!;
  const sent = new Map<string, { readonly path: string }>();
  for (const [index, { path }] of sentFiles(form, param, shape).entries()) {
    const name = files[index]!.filename || param;
    if (sent.has(name))
      throw refuse(`${param}: expected different file names, received ${name} twice`);
    sent.set(name, { path });
  }
  const names = new Set(operation.images!(options));
  for (const name of names) {
    if (!sent.has(name)) {
      throw refuse(`${param}: the recipe refers to ${name}, which was not sent in this field`);
    }
  }
  for (const name of sent.keys()) {
    if (!names.has(name)) throw refuse(`${param}: the recipe does not refer to ${name}`);
  }
  return Object.fromEntries(sent);
}
