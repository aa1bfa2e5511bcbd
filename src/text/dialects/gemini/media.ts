import type { Json, MediaPart } from '../../canonical/canonical.ts';
import { mediaTypeOfAddress, VIDEO_HOSTS } from '../media-source.ts';
import { untranslatable } from '../request-errors.ts';

/** The host of files in the provider's own account. */
const FILE_HOST = 'generativelanguage.googleapis.com';

const FILES = /^(?:gs:|files\/|https:\/\/generativelanguage\.googleapis\.com\/)/i;

/** Whether an address is that of a file in an account at Google. */
export const isStoredFile = (uri: string): boolean => FILES.test(uri) || !/^https?:/i.test(uri);

/** A part with media, of a message or of a function response. */
export function encodeMedia({ source, media, path }: MediaPart): Json {
  switch (source.kind) {
    case 'data':
      return { inlineData: { mimeType: source.mediaType, data: source.data } };
    case 'file':
      throw untranslatable(path, 'gemini', 'this provider does not have files of other providers');
    case 'url': {
      const { hostname, pathname } = locationOf(source.url, path);
      if (hostname === FILE_HOST) {
        throw untranslatable(path, 'gemini', "files in the provider's account cannot be named");
      }
      if (media === 'video' && VIDEO_HOSTS.has(hostname)) {
        return { fileData: { fileUri: source.url } };
      }
      const mimeType = mediaTypeOfAddress(pathname);
      if (mimeType === null) {
        throw untranslatable(
          path,
          'gemini',
          'this upstream reads an address only with its media type: use one that ends with an extension ' +
            'such as .jpg, or send a data: URL',
        );
      }
      return { fileData: { mimeType, fileUri: source.url } };
    }
  }
}

function locationOf(url: string, path: string): URL {
  if (URL.canParse(url)) return new URL(url);
  throw untranslatable(path, 'gemini', 'expected a valid URL');
}
