// What the compiler has to know: names, kinds and answers come from the API's description.
import { MemoryBook, type Schema } from "../dist/index.js";

export async function read(book: MemoryBook): Promise<string[]> {
  const found: Schema<"search.types.Answer"> = await book.search("tea", { max_results: 3 });
  const kept: string = (await book.remember("Tea.", { category: "fact" })).known.entry.id;
  // @ts-expect-error no such category
  await book.remember("Tea.", { category: "drink" });
  // @ts-expect-error no such field
  await book.search("tea", { maximum: 3 });
  // @ts-expect-error no such path
  await book.api.GET("/api/v1/teas");
  return [kept, ...found.hits.map((hit) => hit.snippet)];
}
