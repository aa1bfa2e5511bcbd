import { outputSize, type Size } from '../../../images/sizes.ts';
import type {
  MediaJob,
  MediaOutput,
  OutputFile,
  ProviderContext,
} from '../../provider/provider.ts';
import type { ImageTaskRequest } from '../../task/task-request.ts';
import { applyDirectives, expectModel, GARBAGE, usageOf } from './directives.ts';
import { coloursOf, convertImage, fittedSize, renderImage, sizeFor, sizeOf } from './rendering.ts';

const DEFAULT_SIZE: Size = { width: 1024, height: 1024 };

/**
 * Renders landscapes as PNG, or the first input with one laid over it. One after another, so that
 * other jobs get threads meanwhile.
 */
export async function makeImages(
  { request, inputs, mask }: MediaJob<ImageTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  expectModel(context, 'image');
  const { prompt, seed } = request;
  const directives = await applyDirectives(prompt, 'prompt', context.signal);
  const source = request.edit ? inputs[0] : undefined;
  const defaultSize =
    source === undefined ? DEFAULT_SIZE : sizeOfEdit(request, await sizeOf(context, source));
  const { width, height } = sizeFor(directives.size ?? request.size, defaultSize);
  const references = source === undefined ? inputs : inputs.slice(1);
  const colours = await coloursOf(context, references);
  const files: OutputFile[] = [];
  for (let number = 0; number < Math.min(request.n, directives.partial ?? request.n); number += 1) {
    const options = { prompt, seed, number, width, height, colours };
    const edit = source && { edit: { mask: mask?.bytes ?? null } };
    const bytes = directives.garbage
      ? GARBAGE
      : await encoded(
          context,
          await renderImage(context, { ...options, ...edit }, source),
          request,
        );
    files.push({ bytes });
  }
  const tokens = Math.ceil((width * height) / 1024) * files.length;
  return { files, usage: usageOf(prompt, inputs.length, tokens) };
}

/** A rendered PNG in the format that the client chose. */
function encoded(
  context: ProviderContext,
  png: Uint8Array,
  { options = {} }: ImageTaskRequest,
): Promise<Uint8Array> | Uint8Array {
  const { output_format: format = 'png', output_compression: compression = 100 } = options;
  if (format === 'png') return png;
  return convertImage(context, png, String(format), Number(compression));
}

/** An edit has the size of its source, as far as the model allows. */
function sizeOfEdit({ native }: ImageTaskRequest, size: Size): Size {
  return native ? outputSize(size) : fittedSize(size);
}
