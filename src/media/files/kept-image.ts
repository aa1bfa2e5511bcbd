import { DEFAULT_LIMITS, type Limits } from '../../images/limits.ts';
import type { ImagePool } from '../../operations/pool.ts';
import type { NewAsset } from '../../store/asset.ts';
import type { AssetFiles } from '../../store/asset-files.ts';
import type { SentFile } from '../requests/call.ts';
import { type ProvenPicture, provePicture } from './pictures.ts';

interface Keeping {
  readonly files: AssetFiles;
  readonly pool: ImagePool;
  readonly limits: Limits;
}

/** Bytes of an image that a client sends. */
export const LARGEST_IMAGE = DEFAULT_LIMITS.fileBytes;

/**
 * Proves that a file that a client sent is an image, and keeps a copy of it.
 *
 * @param param where it stands in the request
 * @throws Failure invalid_request that names it; `service_error` where it cannot be kept or there is no room for it
 */
export async function keepImage(
  { path, size }: SentFile,
  param: string,
  { files, pool, limits }: Keeping,
): Promise<{ readonly asset: NewAsset; readonly picture: ProvenPicture }> {
  const picture = await provePicture(pool, path, limits, param);
  await files.checkFreeSpace({ bytes: size, files: 1 });
  const id = files.newId(picture.extension);
  const written = await files.copy(id, path, limits.fileBytes);
  return { asset: { id, mediaType: picture.mediaType, ...written }, picture };
}
